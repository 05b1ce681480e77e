"""A margin below what a truth promises: float noise or a wrong label? Exact arithmetic decides."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from assay.difficulty.margin import MarginFunction
from assay.difficulty.search import Lowest
from assay.errors import WrongLabel
from assay.question.balls import Bounds
from assay.question.point_evaluation import PointEvaluation
from assay.question.vnnlib import decimal

_SHOWN_INPUTS = 4


def held_to_label(
    function: MarginFunction, found: Sequence[Lowest], certified: Fraction | None
) -> tuple[list[float], str]:
    """The margins that were found, those below the certified one replaced by exact ones.

    Raises WrongLabel where the exact margin is below as well. `certified` is None where no truth
    says that the question is robust: then nothing is promised.
    """
    margins, notes = [], []
    for lowest in found:
        margin = lowest.margin
        if certified is not None and margin < certified:
            exact = _exact_margin(function, lowest)
            if exact is None:
                notes.append(f"the margin {margin:.3g} could not be evaluated exactly")
            else:
                _refuse_broken(function, lowest, exact, certified)
                margin = float((exact[0] + exact[1]) / 2)
                notes.append(f"float noise: {lowest.margin:.3g} is {margin:.3g} exactly")
        margins.append(margin)
    return margins, "; ".join(dict.fromkeys(notes))


def _exact_margin(function: MarginFunction, lowest: Lowest) -> Bounds | None:
    case = function.cases[lowest.case]
    evaluation = PointEvaluation(function.network, _inside(function, lowest))
    return evaluation.margin(case.violation)


def _inside(function: MarginFunction, lowest: Lowest) -> list[Fraction]:
    """The point in the exact box: where a bound is no float64, its number is nearby."""
    box = function.cases[lowest.case].box
    bounds = zip(lowest.point.tolist(), box.lower, box.upper, strict=True)
    return [min(max(Fraction(value), low), high) for value, low, high in bounds]


def _refuse_broken(
    function: MarginFunction, lowest: Lowest, exact: Bounds, certified: Fraction
) -> None:
    if exact[1] >= certified:
        return
    what = "is violated" if exact[1] <= 0 else f"has less than the certified {float(certified):.6g}"
    point = [decimal(v) for v in _inside(function, lowest)]
    shown = " ".join(point[:_SHOWN_INPUTS]) + (" ..." if len(point) > _SHOWN_INPUTS else "")
    raise WrongLabel(
        f"{function.network.place}: WRONG LABEL: said to be robust, but it {what}: its margin is "
        f"exactly {float(exact[1]):.6g} at the point {shown} (found by {lowest.stage}); do not use "
        "this instance, and report it with the file"
    )
