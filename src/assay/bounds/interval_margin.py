"""What interval bounds of the outputs say about a violation, in exact rationals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from assay.bounds.interval import enclosing_box, output_bounds
from assay.question.network import Network
from assay.question.property import Case, Inequality

Ends = Sequence[tuple[float, float]]


def excludes(network: Network, case: Case) -> bool:
    """Whether plain interval bounds prove that the case has no violation."""
    low, high = output_bounds(network, *enclosing_box(case.box))
    ends = list(zip(low[0].tolist(), high[0].tolist(), strict=True))
    return all(
        any(_never_holds(inequality, ends) for inequality in disjunct)
        for disjunct in case.violation.disjuncts
    )


def _never_holds(inequality: Inequality, ends: Ends) -> bool:
    """Whether the left side exceeds the bound for all outputs between their ends."""
    least = [(c, ends[i][0] if c > 0 else ends[i][1]) for i, c in inequality.terms]
    if not all(math.isfinite(end) for _, end in least):
        return False
    return sum((c * Fraction(end) for c, end in least), start=Fraction(0)) > inequality.bound
