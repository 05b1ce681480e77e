"""`assay score`: what the results of verifiers are worth, soundness first."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.failing import FAIL_ON, FailOn, JunitFile
from assay.cli.option_kinds import AsJson
from assay.errors import BadInput

if TYPE_CHECKING:
    from assay.judge.scored_runs import JudgedRuns


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
    fail_on: FailOn = FAIL_ON,
    junit: JunitFile = None,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
    as_latex: Annotated[bool, typer.Option("--latex", help="Print LaTeX.")] = False,
    as_json: AsJson = False,
) -> None:
    """Score runs against the truth; exit 1 if a verifier shows what --fail-on names.

    By default that is an unsound answer (robust where a counterexample exists), or not a single
    valid answer. Every question of the benchmark counts for every verifier of the runs: what was
    not run is unsolved, and is told. Runs that are scored together have the same limits.

    Examples:

      assay score runs/first

      assay score runs/first --fail-on unsound,bogus,crash --junit results.xml

      assay score --results results.csv --benchmark bench
    """
    from assay.cli.failing import (
        end_for_failures,
        failure_document,
        refuse_foreign_junit,
        write_junit,
    )
    from assay.cli.output import print_json, print_line
    from assay.cli.score_view import crashed_document, show_crashed, show_scores
    from assay.judge.faults import failures, faults_named
    from assay.judge.score_export import to_csv, to_document, to_latex

    if rules not in ("2024", "2026"):
        raise BadInput(f"--rules {rules} is not known; give 2024 or 2026")
    if as_csv + as_latex + as_json > 1:
        raise BadInput("--json, --csv and --latex are three forms of one output; give one of them")
    wanted = faults_named(fail_on)
    refuse_foreign_junit(junit)
    judged = _judged(runs or [], benchmark, results)
    scores = judged.scores("2024" if rules == "2024" else "2026")
    write_junit(junit, judged)
    if as_json:
        print_json(
            to_document(scores)
            | crashed_document(judged.crashed)
            | failure_document(wanted, failures(scores, wanted))
        )
    elif as_csv:
        print_line(to_csv(scores).rstrip())
    elif as_latex:
        print_line(to_latex(scores).rstrip())
    else:
        show_crashed(judged.crashed)
        show_scores(scores)
    if scores.incomplete:
        print(f"assay: {scores.incomplete}", file=sys.stderr)
    end_for_failures(scores, wanted)


def _judged(runs: list[Path], benchmark: Path | None, results: Path | None) -> JudgedRuns:
    from assay.cli.output import shown_progress
    from assay.judge.scored_runs import judge_published, judge_runs
    from assay.judge.vnncomp_results import read_vnncomp_results
    from assay.suite.folder import BenchmarkFolder

    if results is None:
        if not runs:
            raise BadInput("nothing to score; name a run, or --results with --benchmark")
        with shown_progress("check") as watcher:
            return judge_runs(runs, benchmark, watcher=watcher)
    if benchmark is None or runs:
        raise BadInput("--results goes with --benchmark and without runs; give both")
    folder = BenchmarkFolder.open(benchmark)
    imported = read_vnncomp_results(results, folder)
    with shown_progress("check") as watcher:
        return judge_published(imported.results, folder, results, watcher)
