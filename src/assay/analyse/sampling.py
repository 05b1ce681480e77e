"""Uniform points of a region, in batches, on a processor or a GPU.

* l_inf: every input uniform by itself, also within a valid range and on its levels.
* l_2: a normal vector has a uniform direction; the share of the ball within t of its centre is
  t^d, so the distance is U^(1/d). (The paper's Algorithm 4 needs the *regularised* incomplete
  gamma function for the same; this is simpler.)
* l_1: of d + 1 exponential numbers divided by their sum, d with random signs are uniform in the
  cross-polytope (the spacings of the paper's Algorithm 3, without the sort).

The intersection of a ball with a valid range and with a grid of levels is met exactly, too, see
`placing` and `tilting`. If hardly any point is kept there, that is said, and nothing is drawn.

Points do not depend on how many are taken at once: they come in blocks, see `randomness`.
"""

from __future__ import annotations

import math
import os
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import torch
from torch import Tensor

from assay.analyse.placing import FEWEST_KEPT, Placing, refuse_rare
from assay.analyse.randomness import FEW_NUMBERS, Source, block_source, stream_key
from assay.analyse.regions import Ball, Region
from assay.analyse.tilting import Tilted

_BLOCK = {"cpu": 2**18, "cuda": 2**24}
"""Numbers in a block: enough to keep a core, or a GPU, busy."""
_MOST_BLOCKS = 256
_FIRST_ROWS = 256
_OFTEN = 0.05
"""If fewer of the points of a ball are valid, they are drawn another way."""


def round_ball(source: Source, rows: int, dimension: int, radius: float) -> Any:
    """Uniform in the ball of l_2 around zero."""
    found = source.normal(rows, dimension)
    distance = radius * source.uniform(rows, 1) ** (1 / dimension)
    found *= distance / source.lengths(found)
    return found


def cross_polytope(source: Source, rows: int, dimension: int, radius: float) -> Any:
    """Uniform in the ball of l_1 around zero."""
    drawn = source.exponential(rows, dimension + 1)
    scale = radius / drawn.sum(1)[:, None]
    found = drawn[:, :dimension]
    found *= scale
    return source.with_signs(found)


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
        most = max(1, _BLOCK[self._device.type] // region.dimension)
        self._most_rows = 1 << (most.bit_length() - 1)
        self._place = Placing(region, self._device, self._wide)
        self._tilted = self._tilting()
        self._next = 0
        self._left = torch.empty(0, region.dimension, dtype=dtype, device=self._device)
        self._tried = self._kept = 0

    def take(self, count: int) -> Tensor:
        """The next `count` points [count, d]."""
        parts = [self._left]
        missing = count - len(self._left)
        while missing > 0:
            share = self._kept / self._tried if self._tried else 1.0
            fresh = self._blocks(math.ceil(missing / max(share, FEWEST_KEPT)))
            parts.append(fresh)
            missing -= len(fresh)
        together = torch.cat(parts) if len(self._left) or len(parts) > 2 else parts[-1]
        self._left = together[count:]
        return together[:count]

    def _rows(self, block: int) -> int:
        """So many points does a block try: few at first, for a decision may need no more."""
        return min(self._most_rows, _FIRST_ROWS << min(max(block - 1, 0), 30))

    def _blocks(self, wanted: int) -> Tensor:
        """The next blocks, for about so many tries; each is written by a thread of its own."""
        starts = [0]
        while starts[-1] < wanted and len(starts) <= _MOST_BLOCKS:
            starts.append(starts[-1] + self._rows(self._next + len(starts) - 1))
        size = (starts.pop(), self.region.dimension)
        found = torch.empty(size, dtype=self._dtype, device=self._device)
        together = self._device.type == "cpu" and len(starts) > 1
        run = _threads().map if together else map
        numbers = range(self._next, self._next + len(starts))
        kept = list(run(lambda number, start: self._block(number, found[start:]), numbers, starts))
        self._next += len(starts)
        self._tried += len(found)
        self._kept += sum(kept)
        refuse_rare(self._kept, self._tried)
        if sum(kept) == len(found):
            return found
        return torch.cat([found[i : i + n] for i, n in zip(starts, kept, strict=True)])

    def _block(self, number: int, room: Tensor) -> int:
        """Write the points of a block to the room; how many there are."""
        rows = self._rows(number)
        if self._tilted is not None:
            source = block_source(self._key, number, True, self._device)
            points, kept = self._tilted(source.uniform(rows, self._tilted.columns))
            points = torch.as_tensor(points[kept])
            room[: len(points)] = points
            return len(points)
        source = block_source(self._key, number, self._wide, self._device)
        drawn = self._drawn(source, rows)
        if self._place.put(drawn, room[:rows]):
            return rows
        points, kept = self._place(drawn)
        points = torch.as_tensor(points if kept is None else points[kept])
        room[: len(points)] = points
        return len(points)

    def _tilting(self) -> Tilted | None:
        """A better way to the same law, if few points of the ball lie within the range."""
        region = self.region
        if not isinstance(region, Ball) or region.norm == "inf" or region.levels is not None:
            return None
        if region.valid is None:
            return None
        rows = max(16, min(1024, _BLOCK["cpu"] // region.dimension))
        source = block_source(stream_key("tilting", *self._key), 0, self._wide, self._device)
        _, kept = self._place(self._drawn(source, rows))
        share = float(kept.sum()) / rows
        return None if share >= _OFTEN else Tilted(region, self._device)

    def _drawn(self, source: Source, rows: int) -> Any:
        place = self._place
        if place.ball is None:
            return source.uniform(rows, place.dimension)
        return _BALLS[place.ball](source, rows, place.dimension, place.reach)


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(len(os.sched_getaffinity(0)), thread_name_prefix="sampling")
