"""Where to cut the values of a component in two: between them, and at a round number."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

import numpy as np

from assay.difficulty.ranks import Values

_DIGITS = 17
_OUTWARD_DIGITS = 2


def round_between(low: float, high: float) -> float:
    """A number with few digits above `low` and at most `high`, well between them if it can be."""
    if low < 0 < high:
        return 0.0
    if high <= 0:
        found = -round_between(-high, -low)
        return found if found > low else high
    middle = _middle(low, high)
    for digits in range(_DIGITS):
        found = float(f"{middle:.{digits}e}")
        if low < found < high:
            return found
    return high


def _middle(low: float, high: float) -> float:
    """Between numbers that are not negative; by their orders of magnitude where these differ."""
    if math.isinf(high):
        return min(10 * low, math.nextafter(math.inf, 0)) or 1.0
    if low > 0 and high > 10 * low:
        return math.sqrt(low) * math.sqrt(high)
    return low / 2 + high / 2


def rounded_down(value: float) -> float:
    return _outward(value, ROUND_FLOOR)


def rounded_up(value: float) -> float:
    return _outward(value, ROUND_CEILING)


def _outward(value: float, direction: str) -> float:
    """Two digits are left; infinite values stay."""
    if math.isinf(value) or value == 0:
        return value
    # The shortest text of a float, not its exact value: 0.3 should stay 0.3.
    text = Decimal(repr(value))
    step = Decimal(1).scaleb(text.adjusted() - _OUTWARD_DIGITS + 1)
    found = float(text.quantize(step, rounding=direction))
    return found if math.isfinite(found) else value


def quantile_cuts(values: Values, parts: int) -> tuple[float, ...]:
    """Cuts into at most so many parts of about the same size; equal values stay together."""
    distinct, counts = np.unique(values, return_counts=True)
    below = np.cumsum(counts)[:-1]
    if not below.size:
        return ()
    wanted = values.size * np.arange(1, parts) / parts
    nearest = np.unique(np.abs(below[None, :] - wanted[:, None]).argmin(axis=1))
    return tuple(round_between(float(distinct[k]), float(distinct[k + 1])) for k in nearest)


def bins_of(values: Values, cuts: tuple[float, ...]) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    """The number of each value's part: how many cuts are at most the value."""
    return np.searchsorted(np.asarray(cuts), values, side="right")
