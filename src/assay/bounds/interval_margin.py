"""What interval bounds of the outputs say about a violation, in exact rationals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from assay.bounds.interval import enclosing_box, output_bounds
from assay.question.network import Network
from assay.question.property import Case, Inequality, Violation


def excludes(network: Network, case: Case) -> bool:
    """Whether plain interval bounds prove that the case has no violation."""
    low, high = output_bounds(network, *enclosing_box(case.box))
    return margin_floor(case.violation, low[0].tolist(), high[0].tolist()) > 0


def margin_floor(
    violation: Violation, lows: Sequence[float], highs: Sequence[float]
) -> Fraction | float:
    """The least margin that outputs between their ends can have; minus infinity if unknown."""
    return min(
        max(_least_excess(inequality, lows, highs) for inequality in disjunct)
        for disjunct in violation.disjuncts
    )


def _least_excess(
    inequality: Inequality, lows: Sequence[float], highs: Sequence[float]
) -> Fraction | float:
    least = [(c, lows[i] if c > 0 else highs[i]) for i, c in inequality.terms]
    if not all(math.isfinite(end) for _, end in least):
        return -math.inf
    return sum((c * Fraction(end) for c, end in least), start=Fraction(0)) - inequality.bound
