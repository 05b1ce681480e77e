"""`assay explain`: why verifiers leave instances unsolved, from the profiles of the instances."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.option_kinds import AsJson, MaybeFile, Seed
from assay.errors import BadInput

if TYPE_CHECKING:
    from assay.difficulty.explanation import Explanation

_FEWEST_RESAMPLES, _MOST_RESAMPLES = 99, 1_000_000


def explain(
    benchmark: Annotated[Path, typer.Argument(metavar="DIR", help="The benchmark folder.")],
    runs: Annotated[
        list[Path], typer.Option("--run", metavar="RUN", help="The folder of a run; repeatable.")
    ],
    seed: Seed = 0,
    resamples: Annotated[
        int, typer.Option(metavar="N", help="Bootstrap samples, and shuffles of the outcomes.")
    ] = 1999,
    output: MaybeFile = None,
    charts: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write its charts as SVG into this folder.")
    ] = None,
    png: Annotated[bool, typer.Option("--png", help="With --charts: as PNG too.")] = False,
    as_json: AsJson = False,
) -> None:
    """Say which difficulty goes with what verifiers leave unsolved; run `assay profile DIR` before.

    Unsolved means timeout, unknown or out of memory; each is called by its name. The AUC of a
    component is the chance that an unsolved instance has a larger value than a solved one: 0.5
    tells nothing. A cause is named only where it beats chance and 0.5 lies outside its interval.

    Examples:

      assay explain bench --run runs/first

      assay explain bench --run runs/first --run runs/second -o why.html --charts figures --png
    """
    from assay.cli.explain_view import show_explanation
    from assay.cli.output import print_json, print_line, shown_progress
    from assay.difficulty.explanation_document import to_document
    from assay.report.explained_runs import explain_runs

    if not _FEWEST_RESAMPLES <= resamples <= _MOST_RESAMPLES:
        allowed = f"{_FEWEST_RESAMPLES} to {_MOST_RESAMPLES:,}"
        raise BadInput(f"--resamples {resamples} is too few or too many; give {allowed}")
    if png and charts is None:
        raise BadInput("--png is about chart files; name their folder with --charts")
    with shown_progress("check") as watcher:
        found = explain_runs(benchmark, runs, seed=seed, resamples=resamples, watcher=watcher)
    written = _write(found.explanation, output, charts, png)
    if found.incomplete:
        print(f"assay: {found.incomplete}", file=sys.stderr)
    if as_json:
        files = {"written": [str(path) for path in written]}
        print_json(
            to_document(found.explanation) | {"incomplete": found.incomplete or None} | files
        )
        return
    show_explanation(found.explanation)
    for path in written:
        print_line(str(path))


def _write(
    explanation: Explanation, page: Path | None, charts: Path | None, with_png: bool
) -> list[Path]:
    if page is None and charts is None:
        return []
    from assay.report.difficulty_page import write_explanation, write_explanation_charts

    written = []
    if page is not None:
        write_explanation(explanation, page)
        written.append(page)
    if charts is not None:
        written += write_explanation_charts(explanation, charts, with_png)
    return written
