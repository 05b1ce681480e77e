"""Uniform points of an l_1 or l_2 ball within a range, where most points of the ball leave it.

Inputs are drawn one by one between their ends from a law with density proportional to exp(-h(x)),
h = |x|^2 / (2 s^2) for l_2 and |x| / s for l_1, and a point x is kept if it lies in the ball, with
probability exp(h(x) - H) for H the value of h at the radius. The density of what is kept is then
constant on the intersection and zero elsewhere, whatever s is: the law is exactly uniform. With s
such that h is H on average, of the order of one point in sqrt(d) is kept, however little of the
ball lies within the range (von Neumann's rejection, with an exponentially tilted proposal).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from scipy import special

from assay.analyse.regions import Ball, Floats

_WIDEST = 1e6
_BISECTIONS = 100


class Tilted:
    """Takes d + 1 uniform numbers a point; on arrays of numpy or tensors of a GPU."""

    def __init__(self, ball: Ball, device: torch.device) -> None:
        assert ball.valid is not None
        self.columns = ball.dimension + 1
        self._square, self._radius = ball.norm == "2", ball.radius
        centre = np.clip(ball.centre, *ball.valid)
        low = np.maximum(ball.valid[0] - centre, -ball.radius)
        high = np.minimum(ball.valid[1] - centre, ball.radius)
        self._scale = _scale(low, high, ball.radius, self._square)
        start, stop = (self._law(end / self._scale) for end in (low, high))
        self._special: Any = special if device.type == "cpu" else torch.special
        self._start, self._width, self._centre = (
            array if device.type == "cpu" else torch.from_numpy(array).to(device)
            for array in (start, stop - start, centre)
        )

    def __call__(self, drawn: Any) -> tuple[Any, Any]:
        """Points [n, d] and which of them are kept."""
        place = drawn[:, :-1] * self._width + self._start
        offsets = self._inverse(place) * self._scale
        size = (offsets * offsets).sum(1) if self._square else abs(offsets).sum(1)
        most = self._radius**2 if self._square else self._radius
        unit = 2 * self._scale**2 if self._square else self._scale
        chance = (size - most) / unit
        log = np.log if isinstance(drawn, np.ndarray) else torch.log
        return offsets + self._centre, (size <= most) & (log(drawn[:, -1]) <= chance)

    def _law(self, x: Floats) -> Floats:
        """The distribution function; for l_1 counted from -1/2 to 1/2, which keeps its digits."""
        if self._square:
            return np.asarray(special.ndtr(x))
        return np.asarray(-np.sign(x) * np.expm1(-np.abs(x)) / 2)

    def _inverse(self, place: Any) -> Any:
        if self._square:
            return self._special.ndtri(place)
        if isinstance(place, np.ndarray):
            return -np.sign(place) * np.log1p(-2 * np.abs(place))
        return -torch.sign(place) * torch.log1p(-2 * place.abs())


def _scale(low: Floats, high: Floats, radius: float, square: bool) -> float:
    """The s at which h is on average what it is at the radius, if there is one."""
    least, most = radius / (len(low) + 1) / 10, _WIDEST * radius
    wanted = radius**2 if square else radius
    for _ in range(_BISECTIONS):
        middle = float(np.sqrt(least * most))
        if _mean_size(low / middle, high / middle, square) * middle ** (1 + square) < wanted:
            least = middle
        else:
            most = middle
    return most


def _mean_size(low: Floats, high: Floats, square: bool) -> float:
    """The sum of the means of x^2, or of |x|, for s = 1."""
    with np.errstate(all="ignore"):
        if square:
            mass = special.ndtr(high) - special.ndtr(low)
            edge = (low * np.exp(-(low**2) / 2) - high * np.exp(-(high**2) / 2)) / np.sqrt(
                2 * np.pi
            )
            found, flat = 1 + edge / mass, (low**2 + low * high + high**2) / 3
        else:
            mass = -np.expm1(low) - np.expm1(-high)
            found = (mass + low * np.exp(low) - high * np.exp(-high)) / mass
            flat = (low**2 + high**2) / 2 / (high - low)
    # Where the ends are close together the law is flat, and the formula loses its digits.
    close = high - low < 1e-3
    return float(np.where(close, np.nan_to_num(flat), found).sum())
