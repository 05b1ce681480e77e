"""`assay build`: a suite into a benchmark folder."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.process_signals import resumable

if TYPE_CHECKING:
    from assay.suite.build import BuildReport


def build(
    suite: Annotated[
        str, typer.Argument(help="Name of a bundled suite, or the path of a suite's YAML file.")
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder to build: new, empty, or unfinished.")
    ],
    jobs: Annotated[int, typer.Option(min=0, help="Processes; 0 means one a core.")] = 0,
    seed: Annotated[int | None, typer.Option(help="Base seed instead of the suite's own.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Build a suite: every instance proven, the same bytes for the same seed.

    An interrupted build continues when the same command is run again.

    Examples:

      assay build quick -o bench

      assay build my-suite.yaml -o bench --jobs 8 --seed 7
    """
    from assay.cli.output import shown_progress
    from assay.suite.build import build as build_suite
    from assay.suite.spec import load_suite
    from assay.suite.workers import available_cores

    loaded = load_suite(suite)
    with resumable(), shown_progress("build") as watcher:
        report = build_suite(
            loaded, output, seed=seed, jobs=jobs or available_cores(), watcher=watcher
        )
    _show(report, as_json)
    if report.failures:
        first = report.failures[0]
        print(
            f"assay: {len(report.failures)} of {report.tasks} draws could not be built, first "
            f"{first['task']}: {first['reason']}; the rest is in {output}",
            file=sys.stderr,
        )
        raise typer.Exit(1)


def _show(report: BuildReport, as_json: bool) -> None:
    from assay.cli.output import print_json, print_line, print_table

    if as_json:
        document = asdict(report) | {"folder": str(report.folder), "instances": report.instances}
        print_json(document)
        return
    rows = [[name, n["robust"], n["violated"]] for name, n in report.counts.items()]
    print_table(f"{report.folder}", ["family", "robust", "violated"], rows)
    for item in report.replacements:
        print_line(f"{item['task']}: seed {item['seed']} replaced: {item['reason']}")
    if report.already == report.tasks:
        print_line(f"{report.instances} instances, all built before.")
    else:
        print_line(f"{report.instances} instances in {report.seconds:.1f} s.")
