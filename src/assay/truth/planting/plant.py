"""A plant: a few ReLU layers over the inputs that end in one unit, the bump.

The bump, relu(F), is read with a weight v (a power of two) against a constant C between label and
target, so the violating set is F >= C / v. The twin's last bias keeps F below that, or its parities
cannot be solved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil

import numpy as np

from assay.truth.dyadic import leading_exponent, power
from assay.truth.planting.hull import Hull
from assay.truth.planting.matrices import Matrix

Layers = tuple[tuple[Matrix, Matrix], ...]
"""Weights (units, inputs) and biases of hidden layers: short dyadic numbers, exact in float64."""


@dataclass(frozen=True)
class Heights:
    """C, v and how far the bump exceeds C at its top: v relu(F) = (1 + excess) C there."""

    constant: Fraction
    weight: Fraction
    excess: Fraction

    @property
    def bound(self) -> Fraction:
        """C / v, above which F violates."""
        return self.constant / self.weight

    @property
    def top(self) -> Fraction:
        return (1 + self.excess) * self.bound

    @property
    def lowered_top(self) -> Fraction:
        """The twin's: as far below C, but not below half of it."""
        return (1 - min(self.excess, Fraction(1, 2))) * self.bound

    @property
    def level(self) -> Fraction:
        """How far F may fall below its top and still violate."""
        return self.excess * self.bound

    @classmethod
    def of_rim(cls, constant: Fraction, excess: Fraction, rim: Fraction, foot: Fraction) -> Heights:
        """The smallest weight with a level of at most `rim` and a top of at most `foot`."""
        least = max(excess * constant / rim, (1 + excess) * constant / foot)
        return cls(constant, _power_at_least(least), excess)

    @classmethod
    def with_top(cls, constant: Fraction, excess: Fraction, most: Fraction) -> Heights:
        """The smallest weight with a top of at most `most`."""
        return cls(constant, _power_at_least((1 + excess) * constant / most), excess)


@dataclass(frozen=True)
class Plant:
    violated: Layers
    robust: Layers
    heights: Heights
    witness: tuple[Fraction, ...]
    hull: Hull
    """Holds all that violates; the float version of what was planted, for random points."""


def with_bump(
    below: Layers,
    row: Sequence[Fraction],
    heights: Heights,
    witness: tuple[Fraction, ...],
    hull: Hull,
    *,
    lifted: Fraction = Fraction(0),
) -> Plant:
    """The bump relu(top + lifted - row · units), and the twin's lower one."""
    weights = np.array([[-float(w) for w in row]])
    tops = (np.array([float(top + lifted)]) for top in (heights.top, heights.lowered_top))
    violated, robust = ((*below, (weights, top)) for top in tops)
    return Plant(violated, robust, heights, witness, hull)


def capped(plant: Plant, above: Fraction) -> Plant:
    """The same violating set, where no hinge charges more than a little above `above`.

    Every hinge h becomes h - relu(h - cap), which is the smaller one of h and its cap. Further out
    the bump is flat, so that its gradient shows no way to the plant. All hinges have weight one.
    """
    rows, biases = plant.violated[-2]
    later = [_lowered(bias, Fraction(9, 8) * above) for bias in biases]
    hinges = np.concatenate([rows, rows]), np.concatenate([biases, later])
    weights = np.repeat([[-1.0, 1.0]], len(rows), axis=1)
    violated, robust = (
        (*layers[:-2], hinges, (weights, layers[-1][1]))
        for layers in (plant.violated, plant.robust)
    )
    return replace(plant, violated=violated, robust=robust)


def _lowered(bias: float, cap: Fraction) -> float:
    """A bias by at least the cap, and as short as it was, so that both fit float32."""
    start = Fraction(bias)
    finest = -leading_exponent(Fraction(start.denominator))
    step = power(max(finest, leading_exponent(cap) - 4))
    return float(start - ceil(cap / step) * step)


def side_by_side(plants: Sequence[Layers]) -> Layers:
    """Plants of the same depth in one network; all read the same inputs."""
    found: list[tuple[Matrix, Matrix]] = []
    for number, layers in enumerate(zip(*plants, strict=True)):
        rows, columns = (sum(w.shape[axis] for w, _ in layers) for axis in (0, 1))
        weight = np.zeros((rows, columns if number else layers[0][0].shape[1]))
        row = column = 0
        for own, _ in layers:
            weight[row : row + own.shape[0], column : column + own.shape[1]] = own
            row += own.shape[0]
            column += own.shape[1] if number else 0
        found.append((weight, np.concatenate([bias for _, bias in layers])))
    return tuple(found)


def rescaled(plant: Plant, scales: Sequence[Matrix]) -> Plant:
    """The same functions with every hidden unit times a power of two."""
    last = Fraction(float(scales[-1][0]))
    return replace(
        plant,
        violated=_rescaled(plant.violated, scales),
        robust=_rescaled(plant.robust, scales),
        heights=replace(plant.heights, weight=plant.heights.weight / last),
    )


def _rescaled(layers: Layers, scales: Sequence[Matrix]) -> Layers:
    found: list[tuple[Matrix, Matrix]] = []
    before = np.ones(layers[0][0].shape[1])
    for (weight, bias), scale in zip(layers, scales, strict=True):
        found.append((weight * scale[:, None] / before, bias * scale))
        before = scale
    return tuple(found)


def _power_at_least(value: Fraction) -> Fraction:
    exponent = leading_exponent(value)
    return power(exponent) if power(exponent) == value else power(exponent + 1)
