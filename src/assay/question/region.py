"""The set of inputs a question asks about: an axis-aligned box with exact rational bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np


@dataclass(frozen=True)
class Box:
    """All x with lower[i] <= x[i] <= upper[i], inputs flattened in C order."""

    lower: tuple[Fraction, ...]
    upper: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        if len(self.lower) != len(self.upper):
            raise ValueError("a box needs as many lower as upper bounds")
        for i, (low, high) in enumerate(zip(self.lower, self.upper, strict=True)):
            if low > high:
                raise ValueError(f"input {i} has lower bound {low} above upper bound {high}")

    @classmethod
    def around(cls, centre: Sequence[Fraction], radius: Fraction) -> Box:
        """The l_inf ball of `radius` around `centre`."""
        return cls(tuple(c - radius for c in centre), tuple(c + radius for c in centre))

    @property
    def dimension(self) -> int:
        return len(self.lower)

    def nearest(self, point: Sequence[Fraction | float]) -> tuple[Fraction, ...]:
        """The point of the box that is nearest, input by input."""
        bounds = zip(point, self.lower, self.upper, strict=True)
        return tuple(min(max(Fraction(value), low), high) for value, low, high in bounds)

    def nearest_float32(self, point: Sequence[float]) -> tuple[Fraction, ...]:
        """The same in float32 numbers, except for inputs whose bounds leave no room for one."""
        bounds = zip(point, self.lower, self.upper, strict=True)
        return tuple(_float32_between(value, low, high) for value, low, high in bounds)

    def contains(self, point: Sequence[Fraction]) -> bool:
        if len(point) != self.dimension:
            return False
        bounds = zip(self.lower, point, self.upper, strict=True)
        return all(low <= value <= high for low, value, high in bounds)


def _float32_between(value: float, low: Fraction, high: Fraction) -> Fraction:
    """The float32 number nearest to `value` between the bounds, if there is one."""
    with np.errstate(over="ignore"):
        nearest = np.float32(value)
    for candidate in (nearest, np.nextafter(nearest, -np.inf), np.nextafter(nearest, np.inf)):
        if np.isfinite(candidate) and low <= Fraction(float(candidate)) <= high:
            return Fraction(float(candidate))
    return min(max(Fraction(value), low), high)
