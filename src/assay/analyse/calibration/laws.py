"""Tests that points follow a law that is known exactly; p-values hold for any number of points.

Points are brought to uniform numbers by the distribution functions of their law. Of these, the
empirical distribution function of n stays within e of the true one with probability at least
1 - 2 exp(-2 n e^2) (Dvoretzky, Kiefer and Wolfowitz; the constant is Massart's, 1990), for
discrete laws too. Sums and differences modulo 1 of independent uniform numbers are uniform again,
and are not where one repeats, mirrors or follows the other.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
GRID_BITS = 40
"""Points are compared on a grid of 2^-40 of their range, which rounding hardly ever crosses."""


def uniform_chance(numbers: Floats, slack: float = 0.0) -> float:
    """The p-value of being independent and uniform on [0, 1], known up to `slack` each.

    The whole distribution, and its two ends: (1 - least)^n and greatest^n are uniform, too.
    """
    ordered = np.sort(numbers)
    count = len(ordered)
    steps = np.arange(count + 1) / count
    above = float((steps[1:] - ordered).max())
    below = float((ordered - steps[:-1]).max())
    ends = max(1 - float(ordered[0]), 0.0) + slack, min(float(ordered[-1]) + slack, 1.0)
    chances = [_massart(count, max(above, below) - slack)]
    chances += [min(1.0, end) ** count for end in ends]
    return least_of(chances)


def discrete_chance(places: NDArray[np.int64], law: Floats, slack: float = 0.0) -> float:
    """The p-value of independent draws 0, 1, ... from a law of finitely many probabilities.

    `slack` is how far the distribution function may be from that of the law.
    """
    if places.min(initial=0) < 0 or places.max(initial=0) >= len(law):
        return 0.0
    seen = np.bincount(places, minlength=len(law)) / max(1, len(places))
    distance = float(abs(np.cumsum(seen) - np.cumsum(law)).max())
    return _massart(len(places), distance - slack)


def _massart(count: int, distance: float) -> float:
    return min(1.0, 2 * math.exp(-2 * count * max(0.0, distance) ** 2))


def independence_chances(columns: Floats, slack: float = 0.0) -> Iterator[float]:
    """P-values of [n, k] independent uniform numbers: successive rows, and neighbours in a row."""
    pairs = len(columns) // 2
    first, second = columns[: 2 * pairs : 2], columns[1 : 2 * pairs : 2]
    for k in range(columns.shape[1]):
        yield from _pair_chances(first[:, k], second[:, k], slack)
    for k in range(columns.shape[1] - 1):
        yield from _pair_chances(columns[:, k], columns[:, k + 1], slack)


def _pair_chances(one: Floats, other: Floats, slack: float) -> Iterator[float]:
    yield uniform_chance((one - other) % 1.0, 2 * slack)
    yield uniform_chance((one + other) % 1.0, 2 * slack)


def least_of(chances: Sequence[float]) -> float:
    """The p-value of several tests together, whatever their dependence (Bonferroni)."""
    return min(1.0, len(chances) * min(chances, default=1.0))


def repeat_chance(unit: Floats, bits: int = GRID_BITS) -> tuple[int, float]:
    """How many rows of [n, d] numbers in [0, 1] are equal to another, or mirror it; the p-value.

    Under the law no cell of the grid is likelier than d! times its volume, which covers the cube
    and the balls of l_1 and l_2 in it; `bits` of a number are random. The p-value of any repeat is
    the expected number of equal pairs.
    """
    cells = np.minimum((unit * 2.0**GRID_BITS).astype(np.int64), 2**GRID_BITS - 1)
    folded = np.minimum(cells, 2**GRID_BITS - 1 - cells)
    keys = _keys(folded)
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    same = np.flatnonzero(ordered[1:] == ordered[:-1])
    repeats = int((folded[order[same]] == folded[order[same + 1]]).all(1).sum())
    if not repeats:
        return 0, 1.0
    count, dimension = unit.shape
    # two cells of rounding, and two mirror images, in every coordinate
    exponent = math.lgamma(dimension + 1) - dimension * (bits - 2) * math.log(2)
    return repeats, min(1.0, count**2 / 2 * math.exp(exponent))


def _keys(cells: NDArray[np.int64]) -> NDArray[np.uint64]:
    """One number a row, equal for equal rows."""
    odd = np.random.Generator(np.random.PCG64(0)).integers(0, 2**63, cells.shape[1], np.uint64)
    found: NDArray[np.uint64] = (cells.astype(np.uint64) * (2 * odd + np.uint64(1))).sum(
        1, dtype=np.uint64
    )
    return found
