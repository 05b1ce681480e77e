"""`assay score`: what the results of verifiers are worth, soundness first."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.errors import BadInput

if TYPE_CHECKING:
    from assay.judge.score_table import Scores


def score(
    runs: Annotated[
        list[Path] | None, typer.Argument(metavar="[RUN...]", help="Folders of runs.")
    ] = None,
    benchmark: Annotated[
        Path | None, typer.Option(help="The benchmark folder, when it has moved.")
    ] = None,
    results: Annotated[
        Path | None, typer.Option(help="A results.csv of VNN-COMP instead of runs.")
    ] = None,
    rules: Annotated[str, typer.Option(help="Rules of VNN-COMP: 2026 or 2024.")] = "2026",
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
    as_latex: Annotated[bool, typer.Option("--latex", help="Print LaTeX.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Score runs against the truth; exit 1 if a verifier says robust where a witness exists.

    Every question of the benchmark counts for every verifier of the runs: what was not run is
    unsolved, and is told. Runs that are scored together have the same limits.

    Examples:

      assay score runs/first

      assay score --results results.csv --benchmark bench
    """
    from assay.cli.output import print_json, print_line
    from assay.cli.score_view import show_scores
    from assay.judge.score_export import to_csv, to_document, to_latex

    if rules not in ("2024", "2026"):
        raise BadInput(f"--rules {rules} is not known; give 2024 or 2026")
    if as_csv + as_latex + as_json > 1:
        raise BadInput("--json, --csv and --latex are three forms of one output; give one of them")
    scores = _scores(runs or [], benchmark, results, rules)
    if as_json:
        print_json(to_document(scores))
    elif as_csv:
        print_line(to_csv(scores).rstrip())
    elif as_latex:
        print_line(to_latex(scores).rstrip())
    else:
        show_scores(scores)
    if scores.incomplete:
        print(f"assay: {scores.incomplete}", file=sys.stderr)
    if scores.unsound:
        raise typer.Exit(1)


def _scores(runs: list[Path], benchmark: Path | None, results: Path | None, rules: str) -> Scores:
    from assay.cli.output import shown_progress
    from assay.judge.scored_runs import score_published, score_runs
    from assay.judge.vnncomp_results import read_vnncomp_results
    from assay.suite.folder import BenchmarkFolder

    year = "2024" if rules == "2024" else "2026"
    if results is None:
        if not runs:
            raise BadInput("nothing to score; name a run, or --results with --benchmark")
        with shown_progress("check") as watcher:
            return score_runs(runs, benchmark, year, watcher=watcher)  # type: ignore[arg-type]
    if benchmark is None or runs:
        raise BadInput("--results goes with --benchmark and without runs; give both")
    folder = BenchmarkFolder.open(benchmark)
    imported = read_vnncomp_results(results, folder)
    with shown_progress("check") as watcher:
        return score_published(imported.results, folder, year, results, watcher)  # type: ignore[arg-type]
