"""A chord where a tangent is needed."""

from __future__ import annotations

from typing import Any

from assay.bounds.operators import lines
from assay.bounds.operators.lines import Curve, Line
from assay.bounds.rounding import Interval
from assay.judge.power.mutant import Mutant, Setting, Swap


def _above(_original: Any, _: Setting) -> Any:
    def above(x: Interval, value: Curve, derivative: Curve) -> Line:
        slope = lines._chord(x, value, derivative(Interval.exactly(x.low)).low)
        return Line(slope, lines._ends_offset(x, slope, value))

    return above


MUTANT = Mutant(
    name="chord-above-s-shape",
    bug="relaxation",
    story="Sigmoid and tanh are bounded by the chord from end to end, also where they bulge.",
    swaps=(Swap("assay.bounds.operators.lines", "_above_s_shape", _above),),
    operators=frozenset({"Erf", "Sigmoid", "Tanh", "Pow"}),
)
