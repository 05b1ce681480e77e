"""Exact numbers as float64, rounded in a direction that is known."""

from __future__ import annotations

import math
from fractions import Fraction


def float_below(value: Fraction) -> float:
    """The largest float64 that is not above `value`."""
    try:
        nearest = float(value)
    except OverflowError:
        return -math.inf if value < 0 else math.nextafter(math.inf, 0)
    return nearest if Fraction(nearest) <= value else math.nextafter(nearest, -math.inf)


def float_above(value: Fraction) -> float:
    """The smallest float64 that is not below `value`."""
    return -float_below(-value)
