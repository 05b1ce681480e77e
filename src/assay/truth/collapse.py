"""Layers that are zero on a whole box: the front of the constant-on-box family.

A *side* is a unit of the last of these layers. Its input has an exact maximum over the box, the
side's peak; a bias below minus the peak keeps it shut on the box, a bias above opens it at the
corner where the peak is. Two kinds of sides:

hinges  relu(alpha_i - x_i) and relu(x_i - beta_i), shut because each coordinate stays in its
        interval. Interval bounds see it: an easy control.
gates   relu(sum_j c_j relu(a_j x + b_j) - beta) over a few coordinates; the sum is convex, so its
        maximum is at one of few corners. Interval bounds and the triangle relaxation of each
        hinge cannot attain the maximum and must leave every gate open.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from assay.question.floaterror import Layer
from assay.question.region import Box
from assay.truth.corner_maximum import Hinges, corner_maxima
from assay.truth.dyadic import (
    CENTRE_BITS,
    RADIUS_BITS,
    float32_at_least,
    float32_at_most,
    leading_exponent,
    power,
)
from assay.truth.randomness import Integers, signed

GATE_COORDINATES = 6
GATE_HINGES = 12
_GATE_WEIGHT_BITS = 6


@dataclass(frozen=True)
class Side:
    """A unit's input: its peak over the box, where that is, and its value at the centre."""

    peak: Fraction
    corner: tuple[Fraction, ...]
    nominal: Fraction
    bias: Fraction

    def shut(self, eta: Fraction) -> Side:
        """With a bias at least `eta` below what opens it."""
        return replace(self, bias=float32_at_most(-self.peak - eta))

    def leaking(self, height: Fraction) -> Side:
        """Open by at least `height` at its corner."""
        return replace(self, bias=float32_at_least(height - self.peak))


@dataclass(frozen=True)
class Collapse:
    """Layers before the sides, the sides' weights, and the sides."""

    before: tuple[Layer, ...]
    weight: NDArray[np.float32]
    sides: tuple[Side, ...]

    def layers(self, leaking: tuple[int, Side] | None = None) -> tuple[Layer, ...]:
        """All layers, with at most one side exchanged."""
        sides = list(self.sides)
        if leaking is not None:
            sides[leaking[0]] = leaking[1]
        bias = np.array([float(side.bias) for side in sides], dtype=np.float32)
        return (*self.before, (self.weight, bias))


def hinge_collapse(middle: Sequence[Fraction], box: Box, eta: Fraction) -> Collapse:
    """Two hinges a coordinate, one for each end of its interval."""
    weight, sides = [], []
    for i, row in enumerate(np.eye(box.dimension, dtype=np.float32)):
        for sign, end in ((-1, box.lower[i]), (1, box.upper[i])):
            corner = (*middle[:i], end, *middle[i + 1 :])
            side = Side(sign * end, corner, sign * middle[i], Fraction(0))
            weight.append(sign * row)
            sides.append(side.shut(eta))
    return Collapse((), np.array(weight) + np.float32(0), tuple(sides))


def gate_collapse(
    draw: Generator, middle: Sequence[Fraction], box: Box, eta: Fraction, count: int
) -> Collapse:
    """`count` gates, each over its own few coordinates and with its own hinges."""
    hinge_weight = np.zeros((count * GATE_HINGES, box.dimension), dtype=np.float32)
    hinge_bias = np.zeros(count * GATE_HINGES, dtype=np.float32)
    weight = np.zeros((count, count * GATE_HINGES), dtype=np.float32)
    sides = []
    for g in range(count):
        gate = _gate(draw, middle, box)
        rows = slice(g * GATE_HINGES, (g + 1) * GATE_HINGES)
        slope_unit, offset_unit = power(gate.scale), power(gate.scale - CENTRE_BITS)
        hinge_weight[rows, gate.coordinates] = gate.hinges.slopes * float(slope_unit)
        hinge_bias[rows] = gate.hinges.offsets * float(offset_unit)
        weight[g, rows] = gate.weights[0] * float(power(-_GATE_WEIGHT_BITS))
        sides.append(gate.side(middle, box).shut(eta))
    return Collapse(((hinge_weight, hinge_bias),), weight, tuple(sides))


@dataclass(frozen=True)
class _Gate:
    """Slopes times 2^scale, offsets times 2^(scale - 8), weights times 2^-6; all integers."""

    coordinates: Integers
    hinges: Hinges
    scale: int
    weights: Integers

    @property
    def unit(self) -> Fraction:
        return power(self.scale - RADIUS_BITS - _GATE_WEIGHT_BITS)

    def ends(self, box: Box) -> tuple[Integers, Integers]:
        """The box in the gate's coordinates, in units of 2^-20."""
        lower, upper = (
            np.array([int(bound[i] * (1 << RADIUS_BITS)) for i in self.coordinates])
            for bound in (box.lower, box.upper)
        )
        return lower, upper

    def lifted(self) -> Hinges:
        """The hinges with offsets in the unit that slopes times inputs have."""
        return replace(self.hinges, offsets=self.hinges.offsets << (RADIUS_BITS - CENTRE_BITS))

    def side(self, middle: Sequence[Fraction], box: Box) -> Side:
        (peak,), (corner,) = corner_maxima(self.lifted(), self.weights, *self.ends(box))
        point = list(middle)
        for i, high in zip(self.coordinates, corner, strict=True):
            point[i] = (box.upper if high else box.lower)[i]
        centre = np.array([int(middle[i] * (1 << RADIUS_BITS)) for i in self.coordinates])
        hinges = self.lifted()
        nominal = int(self.weights[0] @ np.maximum(hinges.slopes @ centre + hinges.offsets, 0))
        return Side(peak * self.unit, tuple(point), nominal * self.unit, Fraction(0))


def _gate(draw: Generator, middle: Sequence[Fraction], box: Box) -> _Gate:
    """Hinges with a range of about one on the box, all unstable, kinks off the centre."""
    coordinates = np.sort(draw.choice(box.dimension, size=GATE_COORDINATES, replace=False))
    epsilon = (box.upper[0] - box.lower[0]) / 2
    largest = 2 / (epsilon * GATE_COORDINATES)
    scale = leading_exponent(largest) - 5
    slopes = signed(draw, round(largest / power(scale)), (GATE_HINGES, GATE_COORDINATES))
    at_centre = slopes @ np.array([int(middle[i] * (1 << CENTRE_BITS)) for i in coordinates])
    totals = np.abs(slopes).sum(axis=1)
    reach = np.array([int(epsilon * int(n) * (1 << CENTRE_BITS) / 4) for n in totals])
    offsets = draw.integers(-reach, reach, endpoint=True) - at_centre
    weights = draw.integers(1, 15, size=(1, GATE_HINGES), endpoint=True)
    starts = np.zeros(GATE_HINGES, dtype=np.int64)
    return _Gate(coordinates, Hinges(slopes, offsets, starts), scale, weights)
