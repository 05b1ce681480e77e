"""From uniform numbers of a unit set to points of a region.

Norm inf, levels and boxes take a point of the unit cube; l_1 and l_2 take one of the ball of radius
`reach` around zero. Where the centre lies on an end of the valid range, the ball is symmetric and
the offset is folded inwards; what still leaves the range is not kept. On levels, a point of a ball
that is larger by half a cell is rounded, and kept if it lies in the ball: every grid point of the
ball has its whole cell in there, so all are equally likely. Whoever draws must draw again what is
not kept, and may ask `refuse_rare` whether that leads anywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from assay.analyse.regions import Ball, Norm, Region
from assay.errors import BadInput

FEWEST_KEPT = 1e-3
_TRIED = 20_000


class Placing:
    """Works on arrays of numpy on a processor, on tensors on a GPU; the same sums suit both."""

    def __init__(self, region: Region, device: torch.device, wide: bool) -> None:
        self.dimension = region.dimension
        self.ball: Norm | None = None
        """The norm of the ball that offsets come from; none for the unit cube."""
        self.reach = 1.0
        self._device, self._dtype = device, np.float64 if wide else np.float32
        self._place: Callable[[Any], tuple[Any, Any]]
        self._shift: Any = None
        self._factor: Any = None
        if not isinstance(region, Ball):
            self._box(region.lower, region.upper)
        elif region.norm == "inf" and region.levels is not None:
            self._levels(region)
        elif region.norm == "inf":
            self._box(region.box.lower, region.box.upper)
        elif region.levels is not None:
            self._rounded(region)
        else:
            self._ball(region)

    def __call__(self, drawn: Any) -> tuple[Any, Any]:
        """Points [n, d], and which of them are kept, or None if all are; `drawn` is used up."""
        return self._place(drawn)

    def put(self, drawn: Any, room: Tensor) -> bool:
        """Write the points where they belong, if that takes no more than a factor and a shift."""
        if self._shift is None:
            return False
        if self._device.type == "cpu":
            if self._factor is not None:
                drawn *= self._factor
            np.add(drawn, self._shift, out=room.numpy(), casting="same_kind")
        elif room.dtype != drawn.dtype:
            room.copy_(self._place(drawn)[0])
        elif self._factor is None:
            torch.add(drawn, self._shift, out=room)
        else:
            torch.addcmul(self._shift, drawn, self._factor, out=room)
        return True

    def _constant(self, values: np.ndarray | float) -> Any:
        array = np.asarray(values)
        array = array if array.dtype == bool else array.astype(self._dtype)
        return array if self._device.type == "cpu" else torch.from_numpy(array).to(self._device)

    def _box(self, lower: np.ndarray, upper: np.ndarray) -> None:
        low, width = self._constant(lower), self._constant(upper - lower)
        self._shift, self._factor = low, width

        def place(drawn: Any) -> tuple[Any, Any]:
            drawn *= width
            drawn += low
            return drawn, None

        self._place = place

    def _levels(self, ball: Ball) -> None:
        first, last = ball.grid()
        counts, start = self._constant(last - first + 1), self._constant(first)
        assert ball.valid is not None
        low = ball.valid[0]

        def place(drawn: Any) -> tuple[Any, Any]:
            return (drawn * counts // 1 + start) * ball.step + low, None

        self._place = place

    def _ball(self, ball: Ball) -> None:
        self.ball, self.reach = ball.norm, ball.radius
        low, high = (-np.inf, np.inf) if ball.valid is None else ball.valid
        middle = np.clip(ball.centre, low, high)
        centre = self._constant(middle)
        at_low, at_high = (self._constant(middle == end) for end in (low, high))
        if ball.valid is None:
            self._shift = centre

        def place(drawn: Any) -> tuple[Any, Any]:
            if ball.valid is None:
                drawn += centre
                return drawn, None
            size = abs(drawn)
            drawn += (size - drawn) * at_low - (size + drawn) * at_high
            drawn += centre
            return drawn, ((drawn >= low) & (drawn <= high)).all(1)

        self._place = place

    def _rounded(self, ball: Ball) -> None:
        order = int(ball.norm)
        self.ball, self.reach = ball.norm, ball.reach + self.dimension ** (1 / order) / 2
        centre = self._constant(ball.centre_level)
        assert ball.valid is not None
        assert ball.levels is not None
        low, last = ball.valid[0], ball.levels - 1

        def place(drawn: Any) -> tuple[Any, Any]:
            levels = (drawn + centre + 0.5) // 1
            # counted in levels, whole numbers of a ball around a grid point are summed exactly
            far = (abs(levels - centre) ** order).sum(1)
            inside = ((levels >= 0) & (levels <= last)).all(1)
            return levels * ball.step + low, inside & (far <= ball.reach**order)

        self._place = place


def refuse_rare(kept: int, tried: int) -> None:
    if tried >= _TRIED and kept < FEWEST_KEPT * tried:
        raise BadInput(
            f"only {kept} of {tried} random points of the ball are valid inputs; lower the radius, "
            "take norm inf, or drop the levels"
        )
