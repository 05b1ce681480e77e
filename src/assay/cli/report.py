"""`assay report`: one HTML file about runs, to open in any browser."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.option_kinds import AsJson, OutputFile
from assay.errors import BadInput

if TYPE_CHECKING:
    from assay.judge.vnncomp_score import Year


def report(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Folders of runs.")],
    output: OutputFile,
    benchmark: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The benchmark folder, when it has moved.")
    ] = None,
    charts: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write both charts as SVG into this folder.")
    ] = None,
    png: Annotated[bool, typer.Option("--png", help="With --charts: as PNG too.")] = False,
    pair: Annotated[
        tuple[str, str] | None,
        typer.Option(metavar="A B", help="With --charts: the two verifiers of the scatter plot."),
    ] = None,
    calibration: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Add a calibration.json of `assay calibrate`."),
    ] = None,
    as_json: AsJson = False,
    rules: Annotated[str, typer.Option(help="Rules of VNN-COMP: 2026 or 2024.")] = "2026",
) -> None:
    """Write a page with verdicts, tables, charts and every task; it needs no network.

    Examples:

      assay report runs/first -o report.html

      assay report runs/first runs/second -o report.html --charts figures --png --pair milp marabou

      assay report runs/first -o report.html --calibration calibration/calibration.json
    """
    from assay.cli.output import print_json, print_line, shown_progress
    from assay.report.page import write_report

    if rules not in ("2024", "2026"):
        raise BadInput(f"--rules {rules} is not known; give 2024 or 2026")
    if charts is None and (png or pair):
        raise BadInput("--png and --pair are about chart files; name their folder with --charts")
    year: Year = "2024" if rules == "2024" else "2026"
    with shown_progress("check") as watcher:
        written = write_report(
            runs,
            benchmark,
            output,
            year=year,
            charts=charts,
            pair=pair,
            with_png=png,
            calibration=calibration,
            watcher=watcher,
        )
    if written.incomplete:
        print(f"assay: {written.incomplete}", file=sys.stderr)
    if as_json:
        print_json(
            {
                "report": str(written.path),
                "charts": [str(path) for path in written.charts],
                "tasks": written.tasks,
                "unsound": written.unsound,
                "incomplete": written.incomplete or None,
            }
        )
        return
    unsound = f", {written.unsound} unsound answers" if written.unsound else ""
    print_line(f"{written.path}: {written.tasks} tasks{unsound}")
    for path in written.charts:
        print_line(str(path))
