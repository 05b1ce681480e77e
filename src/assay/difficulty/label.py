"""A margin below what a truth promises: float noise or a wrong label? Exact arithmetic decides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from assay.difficulty.margin import MarginFunction
from assay.difficulty.search import Lowest
from assay.errors import Unsupported, WrongLabel
from assay.question.balls import Bounds
from assay.question.point_evaluation import PointEvaluation
from assay.question.vnnlib import decimal

_SHOWN_INPUTS = 4
_NOISE = 1e-6
"""Relative; what float64 is off by less is replaced without a word."""


@dataclass(frozen=True)
class Label:
    """What a truth says: the answer, and the margin that is certified for it."""

    answer: Literal["robust", "violated"]
    margin: Fraction


def held_to_label(
    function: MarginFunction, found: Sequence[Lowest], label: Label | None
) -> tuple[list[float], str]:
    """The margins that were found, those below a certified one replaced by exact ones.

    Raises WrongLabel where a robust question's exact margin is below what is certified as well,
    and Unsupported where it seems violated and nothing can tell. The note says what a reader of
    the numbers must know.
    """
    margins = [lowest.margin for lowest in found]
    if label is None:
        return margins, ""
    if label.answer == "violated":
        hidden = min(margins) > 0
        return margins, "the search did not find the violation that the truth shows" * hidden
    notes = []
    for number, lowest in enumerate(found):
        if lowest.margin < label.margin:
            margins[number], note = _settled(function, lowest, label.margin)
            notes.append(note)
    return margins, "; ".join(dict.fromkeys(note for note in notes if note))


def _settled(function: MarginFunction, lowest: Lowest, certified: Fraction) -> tuple[float, str]:
    """The exact margin at the point, and a word about it."""
    case = function.cases[lowest.case]
    # Where a bound of the exact box is no float64, the point may lie just outside.
    point = case.box.nearest(lowest.point.tolist())
    evaluation = PointEvaluation(function.network, point)
    exact = evaluation.margin(case.violation)
    if exact is None:
        if lowest.margin <= 0:
            raise Unsupported(
                f"{function.network.place}: said to be robust, seems violated (margin "
                f"{lowest.margin:.6g}), and exact arithmetic cannot tell "
                f"({'; '.join(evaluation.notes)}); look at this instance by hand"
            )
        return lowest.margin, f"the margin {lowest.margin:.6g} could not be evaluated exactly"
    if exact[1] < certified:
        raise _wrong(function, lowest, point, exact, certified)
    margin = float((exact[0] + exact[1]) / 2)
    if lowest.margin > 0 and abs(margin - lowest.margin) <= _NOISE * margin:
        return margin, ""
    return margin, f"float noise: {lowest.margin:.9g} is {margin:.9g} in exact arithmetic"


def _wrong(
    function: MarginFunction,
    lowest: Lowest,
    point: Sequence[Fraction],
    exact: Bounds,
    certified: Fraction,
) -> WrongLabel:
    what = "is violated" if exact[1] <= 0 else f"has less than the certified {float(certified):.6g}"
    return refuted(function.network.place, what, point, exact[1], lowest.stage)


def refuted(
    place: str, what: str, point: Sequence[Fraction], margin: Fraction, found_by: str
) -> WrongLabel:
    """The sentence for a question that is said to be robust and is not, at a point."""
    written = tuple(decimal(v) for v in point)
    shown = " ".join(written[:_SHOWN_INPUTS]) + (" ..." if len(written) > _SHOWN_INPUTS else "")
    return WrongLabel(
        f"{place}: WRONG LABEL: said to be robust, but it {what}: in exact "
        f"arithmetic its margin is {float(margin):.6g} at the point {shown} (found by "
        f"{found_by}); do not use this instance, and report it",
        written,
    )
