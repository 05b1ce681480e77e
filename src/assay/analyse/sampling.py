"""Uniform points of a region, in batches, on a processor or a GPU.

* l_inf: every input uniform by itself, also within a valid range and on its levels.
* l_2: a normal vector has a uniform direction; the share of the ball within t of its centre is
  t^d, so the distance is U^(1/d). (The paper's Algorithm 4 needs the *regularised* incomplete
  gamma function for the same; this is simpler.)
* l_1: of d + 1 exponential numbers divided by their sum, d with random signs are uniform in the
  cross-polytope (the spacings of the paper's Algorithm 3, without the sort).

The intersection of an l_1 or l_2 ball with a valid range is met exactly, too: where the centre lies
on an end of the range, the ball is symmetric and the offset is folded inwards; what still leaves
the range is drawn again. On levels, a point of a ball that is larger by half a cell is rounded, and
kept if it lies in the ball: every grid point of the ball has its whole cell in there, so all are
equally likely. If hardly any point is kept, that is said, and nothing is drawn.

Points do not depend on how many are taken at once: they come in blocks, see `randomness`.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from assay.analyse.randomness import (
    FEW_NUMBERS,
    DeviceSource,
    ProcessorSource,
    Source,
    stream_key,
)
from assay.analyse.regions import Ball, Region
from assay.errors import BadInput

_BLOCK = {"cpu": 2**18, "cuda": 2**24}
"""Numbers in a block: enough to keep a core, or a GPU, busy."""
_MOST_BLOCKS = 256
_FEWEST_KEPT = 1e-3
_TRIED = 20_000


def round_ball(source: Source, rows: int, dimension: int, radius: float) -> Any:
    """Uniform in the ball of l_2 around zero."""
    found = source.normal(rows, dimension)
    distance = radius * source.uniform(rows, 1) ** (1 / dimension)
    found *= distance / (found * found).sum(1)[:, None] ** 0.5
    return found


def cross_polytope(source: Source, rows: int, dimension: int, radius: float) -> Any:
    """Uniform in the ball of l_1 around zero."""
    drawn = source.exponential(rows, dimension + 1)
    scale = radius / drawn.sum(1)[:, None]
    found = drawn[:, :dimension]
    found *= scale
    found *= source.signs(rows, dimension)
    return found


_BALLS = {"1": cross_polytope, "2": round_ball}


class Sampler:
    """The points of one region under one seed, in order; `take` gives the next ones."""

    def __init__(
        self,
        region: Region,
        seed: int,
        *,
        purpose: str = "",
        device: torch.device | None = None,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        self.region = region
        self._device = torch.device("cpu") if device is None else device
        self._dtype = dtype
        self._key = stream_key(seed, purpose, *region.parts)
        self._wide = region.dimension <= FEW_NUMBERS or dtype == torch.float64
        self._rows = max(1, _BLOCK[self._device.type] // region.dimension)
        self._maker = _Maker(region, self._device, self._wide)
        self._next = 0
        self._left = torch.empty(0, region.dimension, dtype=dtype, device=self._device)
        self._tried = self._kept = 0

    def take(self, count: int) -> Tensor:
        """The next `count` points [count, d]."""
        parts = [self._left]
        missing = count - len(self._left)
        while missing > 0:
            share = self._kept / self._tried if self._tried else 1.0
            blocks = max(1, math.ceil(missing / (self._rows * max(share, _FEWEST_KEPT))))
            fresh = self._blocks(self._next, min(blocks, _MOST_BLOCKS))
            parts.append(fresh)
            missing -= len(fresh)
        together = torch.cat(parts) if len(self._left) or len(parts) > 2 else parts[-1]
        self._left = together[count:]
        return together[:count]

    def _blocks(self, first: int, count: int) -> Tensor:
        """What the next blocks hold, each written to its place by a thread of its own."""
        size = (count * self._rows, self.region.dimension)
        found = torch.empty(size, dtype=self._dtype, device=self._device)
        together = self._device.type == "cpu" and count > 1
        run = _threads().map if together else map
        kept = list(run(lambda i: self._block(first + i, found[i * self._rows :]), range(count)))
        self._next += count
        self._tried += len(found)
        self._kept += sum(kept)
        self._refuse_rare()
        if sum(kept) == len(found):
            return found
        starts = range(0, len(found), self._rows)
        return torch.cat([found[i : i + n] for i, n in zip(starts, kept, strict=True)])

    def _block(self, number: int, room: Tensor) -> int:
        """Write the points of a block to the room; how many there are."""
        source: Source
        if self._device.type == "cpu":
            source = ProcessorSource(self._key, number, self._wide)
            points = torch.from_numpy(self._maker.points(source, self._rows))
        else:
            source = DeviceSource(self._key, number, self._wide, self._device)
            points = self._maker.points(source, self._rows)
        room[: len(points)] = points
        return len(points)

    def _refuse_rare(self) -> None:
        if self._tried >= _TRIED and self._kept < _FEWEST_KEPT * self._tried:
            raise BadInput(
                f"only {self._kept} of {self._tried} random points of the ball are valid inputs; "
                "lower the radius, take norm inf, or drop the range or the levels"
            )


class _Maker:
    """Turns blocks of random numbers into points; some regions keep only a part of them."""

    def __init__(self, region: Region, device: torch.device, wide: bool) -> None:
        self.dimension = region.dimension
        self._device, self._dtype = device, np.float64 if wide else np.float32
        self._make: Callable[[Source, int], Any]
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

    def points(self, source: Source, rows: int) -> Any:
        return self._make(source, rows)

    def _constant(self, values: np.ndarray | float) -> Any:
        array = np.asarray(values)
        array = array if array.dtype == bool else array.astype(self._dtype)
        return array if self._device.type == "cpu" else torch.from_numpy(array).to(self._device)

    def _box(self, lower: np.ndarray, upper: np.ndarray) -> None:
        low, width = self._constant(lower), self._constant(upper - lower)

        def make(source: Source, rows: int) -> Any:
            points = source.uniform(rows, self.dimension)
            points *= width
            points += low
            return points

        self._make = make

    def _levels(self, ball: Ball) -> None:
        first, last = ball.grid()
        counts, start = self._constant(last - first + 1), self._constant(first)
        assert ball.valid is not None
        low = ball.valid[0]

        def make(source: Source, rows: int) -> Any:
            level = source.uniform(rows, self.dimension) * counts // 1 + start
            return level * ball.step + low

        self._make = make

    def _ball(self, ball: Ball) -> None:
        draw = _BALLS[ball.norm]
        low, high = (-np.inf, np.inf) if ball.valid is None else ball.valid
        middle = np.clip(ball.centre, low, high)
        centre = self._constant(middle)
        at_low, at_high = (self._constant(middle == end) for end in (low, high))

        def make(source: Source, rows: int) -> Any:
            offsets = draw(source, rows, self.dimension, ball.radius)
            if ball.valid is None:
                offsets += centre
                return offsets
            size = abs(offsets)
            offsets += (size - offsets) * at_low - (size + offsets) * at_high
            points = offsets + centre
            return points[((points >= low) & (points <= high)).all(1)]

        self._make = make

    def _rounded(self, ball: Ball) -> None:
        draw, centre = _BALLS[ball.norm], self._constant(ball.centre_level)
        order = int(ball.norm)
        assert ball.valid is not None
        assert ball.levels is not None
        low, last = ball.valid[0], ball.levels - 1
        cell = self.dimension ** (1 / order) / 2

        def make(source: Source, rows: int) -> Any:
            levels = (draw(source, rows, self.dimension, ball.reach + cell) + centre + 0.5) // 1
            # counted in levels, whole numbers of a ball around a grid point are summed exactly
            far = (abs(levels - centre) ** order).sum(1)
            inside = ((levels >= 0) & (levels <= last)).all(1)
            return levels[inside & (far <= ball.reach**order)] * ball.step + low

        self._make = make


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(len(os.sched_getaffinity(0)), thread_name_prefix="sampling")
