"""Scores for other programs and for papers: a JSON document, CSV text, LaTeX tables."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from assay.judge.outcome import OUTCOMES, Outcome
from assay.judge.score_table import ALL_FAMILIES, Group, Row, Scores
from assay.judge.vnncomp_score import Standing
from assay.judge.witness_classes import BEST_FIRST

SCHEMA = 1
WITNESS_LABELS = (*BEST_FIRST, "unchecked")
_BROKEN_UP: tuple[Outcome, ...] = ("bogus", "unwitnessed")
_FIGURES = ("solved", "solved_s", "par2_s", "fastest", "only", "not_run", "disagree")
COLUMNS: tuple[tuple[str, tuple[Outcome, ...]], ...] = (
    ("unsound", ("unsound", "contradicted")),
    ("bogus", ("bogus",)),
    ("proved", ("proved", "says robust")),
    ("falsified", ("falsified", "falsified unchecked", "says violated")),
    ("no witness", ("unwitnessed", "falsified within tolerance")),
    ("timeout", ("timeout",)),
    ("unknown", ("unknown", "inconsistent")),
    ("memory", ("out-of-memory",)),
    ("crash", ("crashed", "garbled")),
    ("unsupported", ("unsupported", "refused")),
)
TITLES: dict[Group, str] = {
    "float32": "Instances whose truth holds in float32 as well",
    "real": "Knife-edge instances, decided by real arithmetic only",
    "no truth": "Instances without a proven truth: claims, not facts",
}
_LATEX_SPECIAL = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "{": r"\{",
        "}": r"\}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        **{c: f"\\{c}" for c in "&%$#_"},
    }
)


def to_document(scores: Scores) -> dict[str, Any]:
    """Everything, as values that JSON knows."""
    return {
        "schema": SCHEMA,
        "rules": f"VNN-COMP {scores.year}",
        "verifiers": list(scores.verifiers),
        # None: without any truth nothing can be said about it.
        "sound": None if set(scores.groups) <= {"no truth"} else not scores.unsound,
        "tasks": scores.tasks,
        "not_run": scores.not_run,
        "incomplete": scores.incomplete or None,
        "rows": [_row_document(row) for row in scores.rows],
        "findings": [asdict(finding) for finding in scores.findings],
        "splits": [asdict(split) for split in scores.splits],
        "ranking": {group: [asdict(s) for s in scores.ranking[group]] for group in scores.groups},
        "comparisons": {
            group: [asdict(c) for c in scores.comparisons[group]] for group in scores.groups
        },
    }


def _row_document(row: Row) -> dict[str, Any]:
    return {
        "verifier": row.verifier,
        "family": row.family,
        "guard": row.group,
        "instances": row.instances,
        "outcomes": {outcome: row.count(outcome) for outcome in OUTCOMES},
        "by_witness": {outcome: dict(classes) for outcome, classes in row.by_class.items()},
        **{figure: getattr(row, figure) for figure in _FIGURES},
    }


def to_csv(scores: Scores) -> str:
    """One line for each verifier, family and group, with a header."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    broken_up = [(outcome, label) for outcome in _BROKEN_UP for label in WITNESS_LABELS]
    writer.writerow(
        [
            *("verifier", "family", "guard", "instances"),
            *OUTCOMES,
            *(f"{outcome}: {label}" for outcome, label in broken_up),
            *_FIGURES,
        ]
    )
    for row in scores.rows:
        classes = (row.by_class.get(outcome, {}).get(label, 0) for outcome, label in broken_up)
        writer.writerow(
            [
                *(row.verifier, row.family, row.group, row.instances),
                *(row.count(outcome) for outcome in OUTCOMES),
                *classes,
                *(_number(getattr(row, figure)) for figure in _FIGURES),
            ]
        )
    return text.getvalue()


def to_latex(scores: Scores) -> str:
    """Tables for the packages booktabs and graphicx: by group, then the ranking of the first."""
    missing = f" {scores.not_run} of {scores.tasks} tasks were not run." if scores.not_run else ""
    tables = [
        _table(
            f"{TITLES[group]}.{missing}",
            ("verifier", "family", "n", *(n for n, _ in COLUMNS), "not run", "time", "PAR2"),
            [_latex_cells(row) for row in scores.rows if row.group == group],
            [row.family == ALL_FAMILIES for row in scores.rows if row.group == group],
        )
        for group in scores.groups
    ]
    first = scores.groups[0]
    tables.append(
        _table(
            f"Score and ranking by the rules of VNN-COMP {scores.year}.",
            ("rank", "verifier", "score", "points", "right", "wrong"),
            [_standing_cells(standing) for standing in scores.ranking[first]],
            [False] * len(scores.ranking[first]),
        )
    )
    return "\n".join(tables)


def _latex_cells(row: Row) -> list[str]:
    counted = (sum(row.count(o) for o in outcomes) for _, outcomes in COLUMNS)
    return [
        *(row.verifier, row.family, str(row.instances)),
        *(str(n) for n in counted),
        str(row.not_run),
        *(_number(row.solved_s), _number(row.par2_s)),
    ]


def _standing_cells(standing: Standing) -> list[str]:
    sums = (
        sum(getattr(b, name) for b in standing.benchmarks)
        for name in ("points", "correct", "wrong")
    )
    return [str(standing.rank), standing.verifier, f"{standing.score:.1f}", *map(str, sums)]


def _table(
    caption: str, names: Sequence[str], rows: Iterable[Sequence[str]], totals: Sequence[bool]
) -> str:
    lines = [
        r"\begin{table}",
        rf"\caption{{{caption}}}",
        r"\resizebox{\linewidth}{!}{%",
        rf"\begin{{tabular}}{{ll{'r' * (len(names) - 2)}}}",
        r"\toprule",
        " & ".join(names) + r" \\",
        r"\midrule",
    ]
    before = False
    for cells, is_total in zip(rows, totals, strict=True):
        if is_total and not before:
            lines.append(r"\midrule")
        before = is_total
        lines.append(" & ".join(cell.translate(_LATEX_SPECIAL) for cell in cells) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}}", r"\end{table}", ""])


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return str(value) if isinstance(value, int) else f"{value:.3f}"
