"""Lower and upper slope of a ReLU change places."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from torch import Tensor

from assay.bounds.operators.lines import Line
from assay.bounds.operators.relaxation import Relaxation
from assay.bounds.rounding import Interval
from assay.judge.power.mutant import Mutant, Setting, Swap


def _bent(original: Any, _: Setting) -> Any:
    def bent(x: Interval, slope: Tensor) -> Relaxation:
        found: Relaxation = original(x, slope)
        lower, upper = found.lower, found.upper
        return replace(
            found,
            lower=Line(upper.slope, lower.offset),
            upper=Line(lower.slope, upper.offset),
            kink=None if found.kink is None else replace(found.kink, above=~found.kink.above),
        )

    return bent


MUTANT = Mutant(
    name="swapped-slopes",
    bug="relaxation",
    story="The lower line of an unstable ReLU takes the chord's slope, the upper one the free.",
    swaps=(Swap("assay.bounds.operators.relaxation", "bent", _bent),),
    operators=frozenset({"Relu", "LeakyRelu", "PRelu", "Abs"}),
)
