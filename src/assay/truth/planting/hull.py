"""Sets a little larger than a plant's violating set, that points are drawn from uniformly.

They tell how large a share of the box they are themselves, so hits among the points tell how large
the violating set is. Nothing is proved with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lgamma
from typing import Protocol

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from assay.truth.planting.matrices import Matrix

Numbers = Sequence[Fraction]
_SPARE = 8
"""A hull is wider than the plant by this part of its width over the number of inputs, each way."""


class Hull(Protocol):
    def drawn(self, draw: Generator, count: int) -> Matrix:
        """Uniform points, which may lie outside of the question's box."""

    def holds(self, points: Matrix) -> NDArray[np.bool_]:
        """Which points it contains."""

    def log_volume(self) -> float: ...


@dataclass(frozen=True)
class Slabs:
    """All x with lower <= rows x <= upper."""

    rows: Matrix
    lower: Matrix
    upper: Matrix

    @classmethod
    def around(cls, rows: Matrix, lower: Numbers, upper: Numbers) -> Slabs:
        ends = [np.array([float(v) for v in side]) for side in (lower, upper)]
        spare = (ends[1] - ends[0]) / (_SPARE * len(rows))
        return cls(rows, ends[0] - spare, ends[1] + spare)

    def within(self, lower: float, upper: float) -> Slabs:
        return Slabs(self.rows, np.maximum(self.lower, lower), np.minimum(self.upper, upper))

    def drawn(self, draw: Generator, count: int) -> Matrix:
        shares = draw.random((count, len(self.rows)))
        return _solved(self.rows, self.lower + shares * (self.upper - self.lower))

    def holds(self, points: Matrix) -> NDArray[np.bool_]:
        seen = points @ self.rows.T
        return np.asarray(((seen >= self.lower) & (seen <= self.upper)).all(axis=1), bool)

    def log_volume(self) -> float:
        return float(np.log(self.upper - self.lower).sum()) - _log_stretch(self.rows)


@dataclass(frozen=True)
class Corner:
    """All x with rows x <= upper, where upper - rows x sums up to at most `size`."""

    rows: Matrix
    upper: Matrix
    size: float

    @classmethod
    def around(cls, rows: Matrix, biases: Matrix, level: Fraction) -> Corner:
        """Where rows x + biases, whose rows sum to zero, are at most `level`."""
        charged = float(level) - float(biases.sum()) / (_SPARE * len(biases) * len(biases))
        upper = charged - biases
        return cls(rows[:-1], upper[:-1], float(upper.sum()))

    def drawn(self, draw: Generator, count: int) -> Matrix:
        gaps = draw.exponential(size=(count, len(self.rows) + 1))
        shares = gaps[:, 1:] / gaps.sum(axis=1, keepdims=True)
        return _solved(self.rows, self.upper - self.size * shares)

    def holds(self, points: Matrix) -> NDArray[np.bool_]:
        gaps = self.upper - points @ self.rows.T
        return np.asarray((gaps >= 0).all(axis=1) & (gaps.sum(axis=1) <= self.size), bool)

    def log_volume(self) -> float:
        count = len(self.rows)
        return count * float(np.log(self.size)) - lgamma(count + 1) - _log_stretch(self.rows)


@dataclass(frozen=True)
class Folded:
    """What tent maps bring into slabs: of x - lower, on sides of length 2 epsilon."""

    inside: Slabs
    lower: Matrix
    epsilon: float
    folds: int

    def drawn(self, draw: Generator, count: int) -> Matrix:
        """On all islands alike; each is as much smaller as there are more of them."""
        places = self.inside.drawn(draw, count)
        for _ in range(self.folds):
            half = places / 2
            places = np.where(draw.random(half.shape) < 0.5, half, 2 * self.epsilon - half)
        return self.lower + places

    def holds(self, points: Matrix) -> NDArray[np.bool_]:
        places = points - self.lower
        for _ in range(self.folds):
            places = 2 * places - 4 * np.maximum(places - self.epsilon, 0)
        return self.inside.holds(places)

    def log_volume(self) -> float:
        return self.inside.log_volume()


def _solved(rows: Matrix, images: Matrix) -> Matrix:
    return np.asarray(np.linalg.solve(rows, images.T).T)


def _log_stretch(rows: Matrix) -> float:
    return float(np.linalg.slogdet(rows)[1])
