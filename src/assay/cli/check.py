"""`assay check`: the independent checker over a benchmark folder or single instances."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.cli.option_kinds import AsJson, Jobs

if TYPE_CHECKING:
    from assay.suite.checking import Checked


def check(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="DIR|FILE...",
            help="A benchmark folder; or truth files (NAME.json); or ONNX VNNLIB TRUTH.",
        ),
    ],
    jobs: Jobs = 0,
    as_json: AsJson = False,
) -> None:
    """Prove every label again from the files alone; exit 1 unless all is verified.

    Rows without a truth, files that no row refers to, and twins that are missing, do not name each
    other or have the same answer are reported, and fail the check too.

    Examples:

      assay check bench

      assay check bench/truth/meap-04-000-robust.json

      assay check net.onnx query.vnnlib claim.json
    """
    from assay.cli.output import shown_progress
    from assay.suite import checking
    from assay.suite.folder import BenchmarkFolder

    problems: list[str] = []
    whole = any(path.is_dir() for path in paths)
    if whole:
        if len(paths) > 1:
            raise typer.BadParameter("give one folder, or files, not both")
        folder = BenchmarkFolder.open(paths[0])
        claims = checking.claims_of_folder(folder)
        for entry in folder.without_truth():
            problems.append(f"{entry.name}: row {entry.line} of instances.csv has no truth")
        problems += [f"{path}: no row of instances.csv refers to it" for path in folder.strays()]
    else:
        claims = checking.claims_of_files(paths)
    try:
        with shown_progress("check") as watcher:
            results = checking.check(claims, jobs, watcher)
    except KeyboardInterrupt:
        print("assay: stopped; nothing was changed", file=sys.stderr)
        raise typer.Exit(130) from None
    problems += checking.twin_problems(results) if whole else []
    _show(results, problems, as_json)
    if problems or any(result.status != "verified" for result in results):
        raise typer.Exit(1)


def _show(results: list[Checked], problems: list[str], as_json: bool) -> None:
    from assay.cli.output import one_line, print_json, print_line, print_table
    from assay.suite.checking import STATUSES

    by_status = Counter(result.status for result in results)
    counts = {status: by_status[status] for status in STATUSES}
    if as_json:
        document: dict[str, Any] = {
            "counts": counts,
            "problems": problems,
            "results": [asdict(result) | {"truth": str(result.truth)} for result in results],
        }
        print_json(document)
        return
    if len(results) == 1:
        print_line(one_line(results[0].line))
    else:
        groups = Counter((r.family, r.answer or "?", r.status) for r in results)
        keys = sorted({(family, answer) for family, answer, _ in groups})
        rows = [[*key, *(groups[(*key, status)] for status in STATUSES)] for key in keys]
        print_table("checked", ["family", "answer", *STATUSES], rows)
        for result in results:
            if result.status != "verified":
                print_line(one_line(f"{result.status}: {result.truth}: {result.reason}"))
    for problem in problems:
        print_line(one_line(f"problem: {problem}"))
    if len(results) > 1:
        print_line(", ".join(f"{n} {status}" for status, n in counts.items() if n) + ".")
