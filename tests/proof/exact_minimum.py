"""The exact least margin of a ReLU network along a segment, independently of the checker.

Along a segment every unit is a piecewise linear function of t in [0, 1]. Walking the layers
splits the segment at every zero of a pre-activation, so the pieces are exact; with one
inequality a disjunct the least margin is at the end of a piece. With one input the box is a
segment, and this is the whole truth about it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise

Matrix = Sequence[Sequence[Fraction]]
Layer = tuple[Matrix, Sequence[Fraction]]
Point = Sequence[Fraction]
ZERO = Fraction(0)


def forward(layers: Sequence[Layer], point: Point) -> list[list[Fraction]]:
    """All pre-activations at a point, the outputs last."""
    values, found = list(point), []
    for weight, bias in layers:
        values = [
            sum((w * v for w, v in zip(row, values, strict=True) if w and v), start=b)
            for row, b in zip(weight, bias, strict=True)
        ]
        found.append(values)
        values = [max(v, ZERO) for v in values]
    return found


def between(start: Point, end: Point, t: Fraction) -> list[Fraction]:
    return [a + t * (b - a) for a, b in zip(start, end, strict=True)]


def breakpoints(layers: Sequence[Layer], start: Point, end: Point) -> list[Fraction]:
    """Every t at which the network may bend on the way from `start` to `end`."""
    times = [ZERO, Fraction(1)]
    for depth in range(1, len(layers)):
        at = [forward(layers[:depth], between(start, end, t))[-1] for t in times]
        crossings = {
            t + (u - t) * a / (a - b)
            for (t, left), (u, right) in pairwise(zip(times, at, strict=True))
            for a, b in zip(left, right, strict=True)
            if a * b < 0
        }
        times = sorted({*times, *crossings})
    return times


def least_on_segment(
    layers: Sequence[Layer], margin: Callable[[Point], Fraction], start: Point, end: Point
) -> tuple[Fraction, list[Fraction]]:
    """The least margin between two points, and a point that has it."""
    points = [between(start, end, t) for t in breakpoints(layers, start, end)]
    return min((margin(forward(layers, point)[-1]), point) for point in points)
