"""`assay run`: verifiers over a benchmark folder, in isolation."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer


def run(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A benchmark folder.")],
    verifier: Annotated[
        list[str], typer.Option("--verifier", "-v", help="Name of a verifier; may be repeated.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder of the run.")],
    timeout: Annotated[
        float | None, typer.Option(min=0.1, help="Seconds a task; default: instances.csv.")
    ] = None,
    memory: Annotated[float, typer.Option(min=0.1, help="GiB a task.")] = 4.0,
    jobs: Annotated[int, typer.Option(min=1, help="Tasks at once.")] = 1,
    repeat: Annotated[int, typer.Option(min=1, help="How often each task is run.")] = 1,
    seed: Annotated[int, typer.Option(help="Decides the order of the tasks.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Run verifiers on every question; each task in its own process tree, within limits.

    A run that is stopped goes on where it was when the same command is given again.

    Examples:

      assay run bench -v marabou -v milp --timeout 60 --jobs 2 -o runs/first
    """
    from assay.cli.output import print_json, print_table, shown_progress
    from assay.judge.catalogue import verifier as by_name
    from assay.judge.runner import Settings
    from assay.judge.runner import run as run_all
    from assay.suite.folder import BenchmarkFolder
    from assay.suite.workers import available_cores

    chosen = [by_name(name) for name in dict.fromkeys(verifier)]
    benchmark = BenchmarkFolder.open(folder)
    threads = jobs * max(v.threads for v in chosen)
    if threads > available_cores():
        print(
            f"assay: {threads} threads on {available_cores()} cores: times will suffer; "
            "lower --jobs",
            file=sys.stderr,
        )
    settings = Settings(timeout, memory * 1024, repeat, seed, jobs)
    try:
        with shown_progress("run") as watcher:
            results = run_all(benchmark, chosen, settings, output, watcher)
    except KeyboardInterrupt:
        print("assay: stopped; run the same command again to continue", file=sys.stderr)
        raise typer.Exit(130) from None
    if as_json:
        print_json({"run": str(output), "results": [asdict(result) for result in results]})
        return
    counts = Counter((r.verifier, r.verdict or "-", r.ending) for r in results)
    rows = [(*key, count) for key, count in sorted(counts.items())]
    print_table(str(output), ("verifier", "verdict", "ending", "tasks"), rows)
