"""Adaptive multilevel splitting: an estimate of very rare failures, and no more than that.

Particles, uniform on the region, are ranked by margin. The worse half is dropped, its share noted,
and replaced by copies of the better half; all then walk by Metropolis steps that keep the uniform
law on the points of the region whose margin is below the level reached. Half by half the level
sinks until more than half of the particles fail; the product of the shares estimates the failure
rate (Cerou and Guyader 2007; Webb et al. 2019). Ties at a level are dropped with it, which makes
the mean of the estimate right if particles were moved perfectly (Brehier, Lelievre and Rousset
2015). They are not: where margins have plateaus, or failures lie in many islands, it may be far too
low, and its standard error, taken from independent repeats, does not know. The walk is that of
Cerou, Del Moral, Furon and Guyader (2012), see `latent`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from assay.analyse.asked import Asked
from assay.analyse.latent import Latent
from assay.analyse.placing import refuse_rare
from assay.analyse.randomness import (
    FEW_NUMBERS,
    DeviceSource,
    ProcessorSource,
    Source,
    stream_key,
)
from assay.errors import BadInput

NO_GUARANTEE = "an ESTIMATE, without a guarantee for any finite number of samples"
_FEWEST_PARTICLES, _FEWEST_REPEATS = 10, 2
_AIM = 0.3
"""The share of steps that should be taken; widths follow it."""
_NARROWEST = 1e-6
_MOST_NUMBERS = 2**25
"""Numbers that particles walking side by side may have."""

Ending = Literal["failed", "stuck", "limit"]


@dataclass(frozen=True)
class SplittingSettings:
    """`smallest` is the probability below which the search for failures is given up."""

    particles: int = 1000
    repeats: int = 10
    steps: int = 20
    smallest: float = 1e-30
    seed: int = 0

    def __post_init__(self) -> None:
        if self.particles < _FEWEST_PARTICLES:
            raise BadInput(f"{self.particles} particles have no quantiles; give at least 10")
        if self.repeats < _FEWEST_REPEATS:
            raise BadInput(
                f"a standard error from {self.repeats} repeat is none; give at least 2 repeats"
            )
        if self.steps < 1:
            raise BadInput(f"after {self.steps} steps copies stay copies; give at least 1")
        if not 0 < self.smallest < 1:
            raise BadInput(
                f"the smallest probability {self.smallest:g} is not one between 0 and 1; give 1e-30"
            )


@dataclass(frozen=True)
class Repeat:
    """One run: the share that fails, and the level at which it ended.

    `failed`: more than half of the particles fail. `stuck`: all have one and the same margin.
    `limit`: the share at the level is below the smallest that was asked for.
    """

    share: float
    ending: Ending
    levels: int
    lowest: float
    reached: float
    """The share of the region that was estimated to be at the lowest level."""


@dataclass(frozen=True)
class Splitting:
    """What independent repeats say together."""

    repeats: tuple[Repeat, ...]
    queries: int
    seconds: float

    @property
    def estimate(self) -> float:
        return float(np.mean([repeat.share for repeat in self.repeats]))

    @property
    def found(self) -> bool:
        return any(repeat.share > 0 for repeat in self.repeats)

    @property
    def relative_error(self) -> float | None:
        """The standard error of the estimate over the estimate; none if nothing was found."""
        if not self.found:
            return None
        shares = np.array([repeat.share for repeat in self.repeats])
        return float(shares.std(ddof=1) / math.sqrt(len(shares)) / shares.mean())

    @property
    def below(self) -> float:
        """If nothing was found: the estimated share of the lowest level, which failures are in."""
        return float(np.mean([repeat.reached for repeat in self.repeats]))

    @property
    def lowest(self) -> float:
        return min(repeat.lowest for repeat in self.repeats)

    @property
    def endings(self) -> dict[str, int]:
        ends = [repeat.ending for repeat in self.repeats]
        return {ending: ends.count(ending) for ending in dict.fromkeys(ends)}


@dataclass(frozen=True)
class Stage:
    """Where the repeats that still walk are, for those who wait."""

    level: int
    walking: int
    share: float
    lowest: float
    queries: int


def split(
    asked: Asked, settings: SplittingSettings, watch: Callable[[Stage], None] | None = None
) -> Splitting:
    """Estimate how likely a random point of the region is to fail."""
    steady = replace(asked, model=asked.model.steady())
    wide = asked.region.dimension <= FEW_NUMBERS or asked.model.dtype == torch.float64
    latent = Latent(asked.region, asked.model.device, wide)
    together = max(1, _MOST_NUMBERS // (settings.particles * latent.size))
    found: list[Repeat] = []
    for first in range(0, settings.repeats, together):
        numbers = range(first, min(first + together, settings.repeats))
        walkers = [_Walkers(steady, latent, settings, number, wide) for number in numbers]
        found.extend(_descended(steady, latent, settings, walkers, watch))
    return Splitting(tuple(found), steady.model.queries, steady.model.seconds)


def _descended(
    asked: Asked,
    latent: Latent,
    settings: SplittingSettings,
    walkers: list[_Walkers],
    watch: Callable[[Stage], None] | None,
) -> list[Repeat]:
    """Walk all repeats at once, one batch a step, until each has ended."""
    margins = asked.margins(torch.cat([walker.start() for walker in walkers]))
    for walker, own in zip(walkers, margins.split(settings.particles), strict=True):
        walker.margins = own
    walking = walkers
    level = 0
    while walking := [walker for walker in walking if walker.sinks()]:
        level += 1
        if watch is not None:
            share = float(np.mean([walker.share for walker in walking]))
            lowest = min(walker.lowest for walker in walking)
            watch(Stage(level, len(walking), share, lowest, asked.model.queries))
        for _ in range(settings.steps):
            _step(asked, latent, walking)
    return [walker.result() for walker in walkers]


def _step(asked: Asked, latent: Latent, walking: list[_Walkers]) -> None:
    proposed = torch.cat([walker.proposed() for walker in walking])
    points, inside = latent.points(proposed)
    margins = torch.full((len(points),), math.inf, dtype=torch.float64, device=points.device)
    if bool(inside.any()):
        margins[inside] = asked.margins(points[inside]).to(torch.float64)
    size = len(points) // len(walking)
    for walker, normals, own in zip(
        walking, proposed.split(size), margins.split(size), strict=True
    ):
        walker.take(normals, own)


class _Walkers:
    """The particles of one repeat, with a stream of random numbers of their own."""

    def __init__(
        self, asked: Asked, latent: Latent, settings: SplittingSettings, number: int, wide: bool
    ) -> None:
        self._latent = latent
        self._count = settings.particles
        self._smallest = settings.smallest
        self._key = stream_key(settings.seed, "splitting", number, *asked.region.parts)
        self._block = 0
        self._wide, self._device = wide, asked.model.device
        self._level, self._levels = math.inf, 0
        self._width = 1.0
        self._ending: Ending = "failed"
        self.share = 1.0
        self._margins = torch.empty(0)
        self._normals = torch.empty(0)

    def _source(self) -> Source:
        self._block += 1
        if self._device.type == "cpu":
            return ProcessorSource(self._key, self._block, self._wide)
        return DeviceSource(self._key, self._block, self._wide, self._device)

    def start(self) -> Tensor:
        """Uniform points of the region, whose normal vectors are remembered."""
        vectors, places, kept, tried = [], [], 0, 0
        while kept < self._count:
            normals = torch.as_tensor(self._source().normal(self._count, self._latent.size))
            points, inside = self._latent.points(normals)
            vectors.append(normals[inside])
            places.append(points[inside])
            kept += len(vectors[-1])
            tried += len(normals)
            refuse_rare(kept, tried)
        self._normals = torch.cat(vectors)[: self._count]
        return torch.cat(places)[: self._count]

    @property
    def margins(self) -> Tensor:
        return self._margins

    @margins.setter
    def margins(self, found: Tensor) -> None:
        self._margins = found.to(torch.float64)

    @property
    def lowest(self) -> float:
        return float(self._margins.min())

    def sinks(self) -> bool:
        """Drop the worse half and copy the better one; false where this repeat has ended."""
        better = self._count // 2
        level = float(self._margins.sort().values[better])
        if level <= 0:
            return False
        stays = self._margins < level
        staying = int(stays.sum())
        if not staying:
            return self._end("stuck")
        if self.share * staying / self._count < self._smallest:
            return self._end("limit")
        self._level, self._levels = level, self._levels + 1
        self.share *= staying / self._count
        self._copy(stays, staying)
        return True

    def _end(self, ending: Ending) -> bool:
        self._ending = ending
        return False

    def _copy(self, stays: Tensor, staying: int) -> None:
        """Every survivor gets as many copies as any other, up to one, in random order."""
        order = torch.as_tensor(self._source().uniform(staying, 1)).reshape(-1).argsort()
        survivors = stays.nonzero().reshape(-1)[order]
        dropped = (~stays).nonzero().reshape(-1)
        chosen = survivors[torch.arange(len(dropped), device=dropped.device) % staying]
        self._normals[dropped] = self._normals[chosen]
        self._margins[dropped] = self._margins[chosen]

    def proposed(self) -> Tensor:
        noise = torch.as_tensor(self._source().normal(self._count, self._latent.size))
        return noise.mul_(self._width).add_(self._normals, alpha=math.sqrt(1 - self._width**2))

    def take(self, normals: Tensor, margins: Tensor) -> None:
        """Go where the margin stays below the level; walk wider if most go, else narrower."""
        goes = margins < self._level
        self._normals[goes] = normals[goes]
        self._margins[goes] = margins[goes]
        rate = float(goes.to(torch.float64).mean())
        self._width = min(1.0, max(_NARROWEST, self._width * math.exp(rate - _AIM)))

    def result(self) -> Repeat:
        failing = float((self._margins <= 0).to(torch.float64).mean())
        share = self.share * failing
        # where all particles tie, less than one of them would have gone lower
        below = self.share / self._count if self._ending == "stuck" else self.share
        return Repeat(share, self._ending, self._levels, self.lowest, share or below)
