"""The sets that random inputs are drawn from: lp balls and boxes, as values.

The measure is always the uniform one: on the ball, on its intersection with the valid range of
inputs if there is one, or on the grid points of that set if inputs are quantised.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from typing import Literal, cast, get_args

import numpy as np
from numpy.typing import NDArray

from assay.errors import BadInput
from assay.question.region import Box

Floats = NDArray[np.float64]
Norm = Literal["1", "2", "inf"]
NORMS = get_args(Norm)
MOST_LEVELS = 2**16
"""Those of 16 bits; float32 could not draw from many more evenly."""
_OF_A_LEVEL = 1e-3
"""Inputs read from files are this close to the grid that they were written on."""


@dataclass(frozen=True, eq=False)
class BoxRegion:
    """All x with lower <= x <= upper, flattened in C order."""

    lower: Floats
    upper: Floats

    def __post_init__(self) -> None:
        wrong = ~(np.isfinite(self.lower) & np.isfinite(self.upper) & (self.lower <= self.upper))
        if wrong.any():
            place = int(np.flatnonzero(wrong)[0])
            raise BadInput(
                f"input {place} lies between {self.lower[place]:g} and {self.upper[place]:g}; give "
                "finite bounds, the lower one first"
            )

    @property
    def dimension(self) -> int:
        return len(self.lower)

    @property
    def parts(self) -> tuple[object, ...]:
        """What tells streams of random numbers of different regions apart."""
        return self.lower, self.upper

    @property
    def measure(self) -> str:
        return "uniform on the box"

    @property
    def document(self) -> dict[str, object]:
        """Which box it is."""
        return {"kind": "box", "sha256": _digest(self.lower, self.upper)}

    @classmethod
    def enclosing(cls, box: Box) -> BoxRegion:
        ends = (np.array([float(v) for v in side]) for side in (box.lower, box.upper))
        return cls(*ends)


@dataclass(frozen=True, eq=False)
class Ball:
    """All x within `radius` of `centre` in a norm and, if there is one, in the valid range.

    With `levels`, the range is cut into as many values, and only these are inputs.
    """

    centre: Floats
    radius: float
    norm: Norm
    valid: tuple[float, float] | None = None
    levels: int | None = None

    def __post_init__(self) -> None:
        if self.norm not in NORMS:
            raise BadInput(f"norm {self.norm!r} is unknown; give one of {', '.join(NORMS)}")
        if not (math.isfinite(self.radius) and self.radius > 0):
            raise BadInput(f"radius {self.radius:g} is no ball; give a number above 0")
        if not np.isfinite(self.centre).all():
            raise BadInput("the input holds NaN or infinity; give finite numbers")
        if self.valid is not None:
            self._refuse_range(*self.valid)
        if self.levels is not None:
            if self.valid is None:
                raise BadInput("levels cut the valid range of inputs; give the range as well")
            if not 2 <= self.levels <= MOST_LEVELS:
                raise BadInput(f"{self.levels} levels are no grid; give 2 to {MOST_LEVELS}")

    def _refuse_range(self, low: float, high: float) -> None:
        if not (low < high and math.isfinite(high - low)):
            raise BadInput(
                f"the range {low:g} to {high:g} holds no inputs; give two numbers, low before high"
            )
        slack = 1e-6 * (high - low)
        outside = (self.centre < low - slack) | (self.centre > high + slack)
        if outside.any():
            place = int(np.flatnonzero(outside)[0])
            raise BadInput(
                f"number {place} of the input is {self.centre[place]:g}, outside the range {low:g} "
                f"to {high:g}; give the range that the inputs are in"
            )

    @property
    def dimension(self) -> int:
        return len(self.centre)

    @property
    def parts(self) -> tuple[object, ...]:
        """What tells streams of random numbers of different regions apart."""
        return self.centre, self.radius, self.norm

    @property
    def step(self) -> float:
        """The distance between neighbouring levels."""
        assert self.valid is not None
        assert self.levels is not None
        return (self.valid[1] - self.valid[0]) / (self.levels - 1)

    @property
    def measure(self) -> str:
        ball = f"the l{self.norm} ball of radius {self.radius:g}"
        if self.valid is None:
            return f"uniform on {ball}"
        within = f"[{self.valid[0]:g}, {self.valid[1]:g}]^{self.dimension}"
        if self.levels is None:
            return f"uniform on the intersection of {ball} and {within}"
        return f"uniform on the points of {self.levels} levels in {ball} and {within}"

    @property
    def document(self) -> dict[str, object]:
        """Which ball it is."""
        return {
            "kind": "ball",
            "norm": self.norm,
            "radius": self.radius,
            "range": None if self.valid is None else list(self.valid),
            "levels": self.levels,
            "sha256": _digest(self.centre),
        }

    @property
    def box(self) -> BoxRegion:
        """The smallest box around the ball, within the valid range."""
        low, high = self.centre - self.radius, self.centre + self.radius
        if self.valid is not None:
            low, high = np.maximum(low, self.valid[0]), np.minimum(high, self.valid[1])
        return BoxRegion(low, np.maximum(low, high))

    @property
    def centre_level(self) -> Floats:
        """The centre, counted in levels; a whole number where it lies on the grid."""
        assert self.valid is not None
        found = (self.centre - self.valid[0]) / self.step
        nearest = np.rint(found)
        return np.where(abs(found - nearest) <= _OF_A_LEVEL, nearest, found)

    @property
    def reach(self) -> float:
        """The radius in levels, with room for grid points on the ball's very surface."""
        return self.radius / self.step + _OF_A_LEVEL

    def grid(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The first and the last level of every input within the radius."""
        assert self.levels is not None
        first = np.maximum(np.ceil(self.centre_level - self.reach), 0).astype(np.int64)
        last = np.floor(self.centre_level + self.reach)
        last = np.minimum(last, self.levels - 1).astype(np.int64)
        if (first > last).any():
            place = int(np.flatnonzero(first > last)[0])
            raise BadInput(
                f"no level lies within {self.radius:g} of number {place} of the input; give a "
                "larger radius, more levels, or an input on the grid"
            )
        return first, last


Region = Ball | BoxRegion


def _digest(*arrays: Floats) -> str:
    return hashlib.sha256(b"".join(a.astype("<f8").tobytes() for a in arrays)).hexdigest()


def norm_named(name: str) -> Norm:
    if name not in NORMS:
        raise BadInput(f"norm {name!r} is unknown; give one of {', '.join(NORMS)}")
    return cast(Norm, name)
