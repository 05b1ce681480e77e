"""Adaptive multilevel splitting: an estimate of very rare failures, and no more than that.

Of many random points of the region those with the smallest margins become particles; this first
level costs what any other does. Then the worse half of the particles is dropped, its share noted,
and replaced by copies of the better half; all walk by Metropolis steps that keep the uniform law on
the points of the region whose margin is below the level reached. Half by half the level sinks until
more than half of the particles fail; the product of the shares estimates the failure rate (Cerou
and Guyader 2007; Webb et al. 2019). Ties at a level are dropped with it, which makes
the mean of the estimate right if particles were moved perfectly (Brehier, Lelievre and Rousset
2015). They are not: where margins have plateaus, or failures lie in many islands, it may be far too
low, and its standard error, taken from independent repeats, does not know. What the points of the
beginning prove by themselves is therefore said beside it. The walk is that of
Cerou, Del Moral, Furon and Guyader (2012), see `latent`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch

from assay.analyse.asked import Asked
from assay.analyse.binomial import clopper_pearson
from assay.analyse.latent import Latent
from assay.analyse.particles import Particles, Repeat
from assay.analyse.randomness import FEW_NUMBERS, stream_key
from assay.errors import BadInput

CONFIDENCE = 0.99
NO_GUARANTEE = "an ESTIMATE, without a guarantee for any finite number of samples"
_FEWEST_PARTICLES, _FEWEST_REPEATS = 10, 2
_MOST_NUMBERS = 2**25
"""Numbers that particles walking side by side may have."""


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
class Splitting:
    """What independent repeats say together."""

    repeats: tuple[Repeat, ...]
    queries: int
    model_seconds: float
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
    def drawn(self) -> int:
        """Independent random points that the repeats began with; `failures` of them failed."""
        return sum(repeat.drawn for repeat in self.repeats)

    @property
    def failures(self) -> int:
        return sum(repeat.failures for repeat in self.repeats)

    @property
    def counted(self) -> tuple[float, float]:
        """What these points prove about the rate, with CONFIDENCE: their number was fixed."""
        low, high = clopper_pearson(self.failures, self.drawn, CONFIDENCE)
        return float(low), float(high)

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
    begun = time.perf_counter()
    steady = replace(asked, model=asked.model.steady())
    wide = asked.region.dimension <= FEW_NUMBERS or asked.model.dtype == torch.float64
    latent = Latent(asked.region, asked.model.device, wide)
    together = max(1, _MOST_NUMBERS // (settings.particles * latent.size))
    found: list[Repeat] = []
    for first in range(0, settings.repeats, together):
        numbers = range(first, min(first + together, settings.repeats))
        keys = [stream_key(settings.seed, "splitting", i, *asked.region.parts) for i in numbers]
        ensembles = [
            Particles(latent, key, settings.particles, settings.smallest, asked.model, wide)
            for key in keys
        ]
        found.extend(_descended(steady, latent, settings, ensembles, watch))
    spent = time.perf_counter() - begun
    return Splitting(tuple(found), steady.model.queries, steady.model.seconds, spent)


def _descended(
    asked: Asked,
    latent: Latent,
    settings: SplittingSettings,
    ensembles: list[Particles],
    watch: Callable[[Stage], None] | None,
) -> list[Repeat]:
    """Run all repeats at once, one batch a step, until each has ended."""
    for _ in range(settings.steps + 1):
        margins = asked.margins(torch.cat([ensemble.drawn() for ensemble in ensembles]))
        rows = margins.to(torch.float64).reshape(len(ensembles), -1)
        for ensemble, own in zip(ensembles, rows, strict=True):
            ensemble.choose(own)
    walking, level = ensembles, 0
    while walking := [ensemble for ensemble in walking if ensemble.sink()]:
        level += 1
        if watch is not None:
            share = float(np.mean([ensemble.share for ensemble in walking]))
            lowest = min(ensemble.lowest for ensemble in walking)
            watch(Stage(level, len(walking), share, lowest, asked.model.queries))
        for _ in range(settings.steps):
            _walk(asked, latent, walking)
    return [ensemble.result() for ensemble in ensembles]


def _walk(asked: Asked, latent: Latent, walking: list[Particles]) -> None:
    """One step of all particles; points outside of the region are not asked about."""
    proposed = torch.cat([ensemble.proposed() for ensemble in walking])
    points, inside = latent.points(proposed)
    margins = torch.full((len(points),), math.inf, dtype=torch.float64, device=points.device)
    if bool(inside.any()):
        margins[inside] = asked.margins(points[inside]).to(torch.float64)
    rows = margins.reshape(len(walking), -1)
    blocks = proposed.reshape(*rows.shape, -1)
    for ensemble, normals, own in zip(walking, blocks, rows, strict=True):
        ensemble.move(normals, own)
