"""Scores on a terminal: what is wrong first, then who solved what, in what time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from assay.cli.output import print_line, print_table
from assay.judge.crashed_tools import CrashedTool
from assay.judge.outcome import Outcome
from assay.judge.score_export import COLUMNS, TITLES
from assay.judge.score_table import ALL_FAMILIES, VIRTUAL_BEST, Group, Row, Scores
from assay.judge.significance import Comparison

_WRONG: tuple[Outcome, ...] = ("unsound", "contradicted", "bogus")
_ALWAYS = ("unsound", "bogus", "proved", "falsified")
_CLAIMS = {"unsound": "contradicted", "proved": "says robust", "falsified": "says violated"}
"""How columns are called where nothing is known to be right."""
_MOST_FINDINGS = 20
_MOST_COMPARISONS = 12
_LEVEL = 0.05


def show_crashed(tools: Sequence[CrashedTool]) -> None:
    """The last words of tools that crashed on everything, before anything else."""
    for tool in tools:
        for line in tool.lines():
            print_line(line)


def crashed_document(tools: Sequence[CrashedTool]) -> dict[str, Any]:
    return {"crashed": [tool.document() for tool in tools]}


def show_scores(scores: Scores) -> None:
    for group in scores.groups:
        _show_rows(group, [row for row in scores.rows if row.group == group])
    if scores.incomplete:
        print_line(f"Incomplete: {scores.incomplete}. What is missing counts as unsolved.")
    if "no truth" in scores.groups:
        print_line("Without a truth answers are compared with each other; soundness is not scored.")
    first = scores.groups[0]
    standings = [
        (standing.rank, standing.verifier, f"{standing.score:.1f}", *_sums(standing.benchmarks))
        for standing in scores.ranking[first]
    ]
    title = f"VNN-COMP {scores.year}"
    print_table(title, ("rank", "verifier", "score", "points", "right", "wrong"), standings)
    _show_some(list(_differences(scores.comparisons[first])), _MOST_COMPARISONS)
    _show_some(
        [
            f"{f.outcome}: {f.verifier} on {f.instance} ({f.group})"
            + (f", witness: {f.witness}" if f.witness else "")
            for f in scores.findings
        ],
        _MOST_FINDINGS,
    )


def _show_rows(group: Group, rows: Sequence[Row]) -> None:
    """All families together by outcome, then what was solved of each family."""
    totals = [row for row in rows if row.family == ALL_FAMILIES]
    counted = {
        name: [sum(row.count(outcome) for outcome in outcomes) for row in totals]
        for name, outcomes in COLUMNS
    }
    counted["not run"] = [row.not_run for row in totals]
    # Columns without a number other than zero are left out, but for the first four.
    shown = [name for name, numbers in counted.items() if name in _ALWAYS or any(numbers)]
    cells = [
        (
            row.verifier,
            *(counted[name][number] for name in shown),
            f"{row.solved_s:.1f}",
            "" if row.par2_s is None else f"{row.par2_s:.1f}",
        )
        for number, row in enumerate(totals)
    ]
    header = [_CLAIMS.get(name, name) if group == "no truth" else name for name in shown]
    print_table(f"{TITLES[group]}.", ("verifier", *header, "seconds", "PAR2"), cells)
    families = sorted({row.family for row in rows} - {ALL_FAMILIES})
    solved = {(row.verifier, row.family): _solved(row) for row in rows}
    names = [row.verifier for row in totals]
    by_family = [(n, *(solved.get((n, family), "") for family in families)) for n in names]
    print_table("Solved, and wrong answers", ("verifier", *families), by_family)


def _solved(row: Row) -> str:
    more = [*((row.count(outcome), outcome) for outcome in _WRONG), (row.not_run, "not run")]
    return ", ".join([f"{row.solved}/{row.instances}", *(f"{n} {what}" for n, what in more if n)])


def _sums(benchmarks: Sequence[object]) -> list[int]:
    names = ("points", "correct", "wrong")
    return [sum(getattr(benchmark, name) for benchmark in benchmarks) for name in names]


def _differences(comparisons: Sequence[Comparison]) -> Iterator[str]:
    """The pairs that differ by more than chance, corrected for having looked at all of them."""
    for pair in comparisons:
        if VIRTUAL_BEST in (pair.first, pair.second) or pair.p_solved_holm > _LEVEL:
            continue
        better, worse, more, fewer = pair.first, pair.second, pair.only_first, pair.only_second
        if more < fewer:
            better, worse, more, fewer = worse, better, fewer, more
        yield (
            f"{better} solves more than {worse}: {more} against {fewer} of those that only one "
            f"solves (McNemar, Holm: p = {pair.p_solved_holm:.2g})"
        )


def _show_some(lines: Sequence[str], most: int) -> None:
    for line in lines[:most]:
        print_line(line)
    if len(lines) > most:
        print_line(f"... and {len(lines) - most} more; --json or the report has all")
