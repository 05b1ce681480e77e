"""`assay build`: a suite into a benchmark folder."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

import typer

from assay.cli.option_kinds import AsJson, Jobs, SuiteName, SuiteSeed, WorkFolder
from assay.cli.process_signals import resumable

if TYPE_CHECKING:
    from assay.suite.build import BuildReport


def build(
    suite: SuiteName,
    output: WorkFolder,
    jobs: Jobs = 0,
    seed: SuiteSeed = None,
    as_json: AsJson = False,
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

    loaded = load_suite(suite)
    with resumable(), shown_progress("build") as watcher:
        report = build_suite(loaded, output, seed=seed, jobs=jobs, watcher=watcher)
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
