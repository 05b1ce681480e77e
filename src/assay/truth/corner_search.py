"""A search for a bad corner of a box that any machine repeats.

A design looks at values of the network before it is certified: where biases go, which corner is
bad. Those values are rounded to 30 bits after every layer and weights are short integers times a
power of two (their absolute sum below 2^22), so that float64 sums of products are exact, hence
the same in any order and on any machine. They decide nothing but the design; what is claimed is
evaluated exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from assay.question.region import Box

Floats = NDArray[np.float64]
Sloped = Callable[[Floats], tuple[float, Floats]]
"""The value of a function at a point, and its gradient there."""

_BITS = 30
_TURNS = 6
_STARTS = 6
_EXCHANGES = 256


def rounded(values: Floats) -> Floats:
    """Multiples of one power of two, the largest of them having 30 bits."""
    largest = float(np.abs(values).max(initial=0.0))
    grid = 2.0 ** (_BITS - np.frexp(largest)[1])
    return np.asarray(np.rint(values * grid) / grid)


def relu(values: Floats) -> Floats:
    return np.maximum(values, 0)


def ends(box: Box) -> tuple[Floats, Floats]:
    """The bounds of a box whose bounds float64 holds exactly."""
    return np.array([float(v) for v in box.lower]), np.array([float(v) for v in box.upper])


def random_corner(box: Box, draw: Generator) -> Floats:
    low, high = ends(box)
    return np.where(draw.integers(0, 2, len(low)) == 1, high, low)


def lowest_corner(function: Sloped, box: Box, draw: Generator) -> tuple[Fraction, ...]:
    """A corner of the box where the function is low: from corner to corner downhill."""
    low, high = ends(box)
    best, chosen = np.inf, low
    for start in range(_STARTS):
        point = random_corner(box, draw)
        point = (low + high) / 2 if start == 0 else point
        for _ in range(_TURNS):
            value, slope = function(point)
            if value < best and bool(((point == low) | (point == high)).all()):
                best, chosen = value, point
            following = np.where(slope > 0, low, np.where(slope < 0, high, point))
            if (following == point).all():
                break
            point = following
    return _exact(chosen, box)


def improved_corner(function: Sloped, corner: Sequence[Fraction], box: Box) -> tuple[Fraction, ...]:
    """A corner that is at least as low: sides are exchanged one by one where that goes down."""
    low, high = ends(box)
    point = np.array([float(v) for v in corner])
    best, changed = function(point)[0], 0
    for number in range(max(_EXCHANGES, len(low))):
        if number - changed > len(low):
            break
        side = number % len(low)
        tried = point.copy()
        tried[side] = low[side] if point[side] == high[side] else high[side]
        value = function(tried)[0]
        if value < best:
            best, point, changed = value, tried, number
    return _exact(point, box)


def _exact(corner: Floats, box: Box) -> tuple[Fraction, ...]:
    sides = zip(corner, box.lower, box.upper, strict=True)
    return tuple(lower if value == float(lower) else upper for value, lower, upper in sides)
