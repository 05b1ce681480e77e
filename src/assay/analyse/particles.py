"""The particles of one repeat of multilevel splitting, with random numbers of their own."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from assay.analyse.latent import Latent
from assay.analyse.model import Model
from assay.analyse.placing import refuse_rare
from assay.analyse.randomness import Source, block_source

Ending = Literal["failed", "stuck", "limit"]
_AIM = 0.3
"""The share of steps that should be taken; the width of steps follows it."""
_NARROWEST = 1e-6
_SAME = {torch.float32: 1e-5, torch.float64: 1e-9}
"""Margins this close to a level, relative to it, tie: a plateau has no slope but that of rounding,
which leads nowhere."""


@dataclass(frozen=True)
class Repeat:
    """One run of the particles: the share of the region that fails, and how it ended.

    `failed`: most particles fail. `stuck`: all have the same margin, up to rounding. `limit`: the
    share at the level is smaller than anybody asked for.
    """

    share: float
    ending: Ending
    levels: int
    lowest: float
    reached: float
    """The estimated share of the lowest level, of which all that fails is a part."""
    drawn: int
    failures: int
    """Of the independent random points of the beginning."""


class Particles:
    """First points are drawn and the lowest chosen; then levels sink and particles walk."""

    def __init__(
        self,
        latent: Latent,
        key: tuple[int, ...],
        count: int,
        smallest: float,
        model: Model,
        wide: bool,
    ) -> None:
        device = model.device
        self._latent, self._key, self._count, self._smallest = latent, key, count, smallest
        self._same = _SAME[model.dtype]
        self._device, self._wide = device, wide
        self._blocks = 0
        kind = torch.float64 if wide else torch.float32
        self._normals = torch.empty(0, latent.size, dtype=kind, device=device)
        self._margins = torch.empty(0, dtype=torch.float64, device=device)
        self._fresh = self._normals
        self._pool = self._drawn = self._failing = 0
        self._level, self._levels = math.inf, 0
        self._width = 1.0
        self._ending: Ending = "failed"
        self.share = 1.0

    @property
    def lowest(self) -> float:
        return float(self._margins.min())

    def drawn(self) -> Tensor:
        """Uniform points of the region, as many as there are particles."""
        vectors, places, kept, tried = [], [], 0, 0
        while kept < self._count:
            normals = self._random_normals()
            points, inside = self._latent.points(normals)
            vectors.append(normals[inside])
            places.append(points[inside])
            kept += len(vectors[-1])
            tried += len(normals)
            refuse_rare(kept, tried)
        self._fresh = torch.cat(vectors)[: self._count]
        return torch.cat(places)[: self._count]

    def choose(self, margins: Tensor) -> None:
        """Of all points drawn, keep the lowest: one more than particles, to set the level."""
        self._drawn += len(margins)
        self._pool = self._drawn
        self._failing += int((margins <= 0).sum())
        together = torch.cat([self._margins, margins])
        order = together.argsort(stable=True)[: self._count + 1]
        self._margins = together[order]
        self._normals = torch.cat([self._normals, self._fresh])[order]

    def sink(self) -> bool:
        """Drop what is above the next level and copy the others; false if this is the end."""
        better = self._count if self._levels == 0 else self._count // 2
        level = float(self._margins.sort().values[better])
        if level <= 0:
            return False
        level *= 1 - self._same
        staying = (self._margins < level).nonzero().reshape(-1)
        share = self.share * len(staying) / self._pool
        if not share or share < self._smallest:
            self._ending = "limit" if share else "stuck"
            return False
        self.share, self._level, self._levels = share, level, self._levels + 1
        self._copy(staying)
        return True

    def _copy(self, staying: Tensor) -> None:
        """Every survivor as often as any other, up to once; who is favoured is drawn by lot."""
        lots = torch.as_tensor(self._source().uniform(len(staying), 1)).reshape(-1)
        places = torch.arange(self._count, device=self._device) % len(staying)
        chosen = staying[lots.argsort()][places]
        self._normals, self._margins = self._normals[chosen], self._margins[chosen]
        self._pool = self._count

    def proposed(self) -> Tensor:
        """Normal vectors a step away from the particles'."""
        noise = self._random_normals().mul_(self._width)
        return noise.add_(self._normals, alpha=math.sqrt(1 - self._width**2))

    def move(self, normals: Tensor, margins: Tensor) -> None:
        """Step where the margin stays below the level; then wider if most do, else narrower."""
        steps = margins < self._level
        self._normals[steps] = normals[steps]
        self._margins[steps] = margins[steps]
        rate = float(steps.to(torch.float64).mean())
        self._width = min(1.0, max(_NARROWEST, self._width * math.exp(rate - _AIM)))

    def result(self) -> Repeat:
        failing = int((self._margins <= 0).sum()) if self._levels else self._failing
        share = self.share * failing / self._pool
        # where all particles tie, less than one of them would have gone lower
        below = self.share / self._pool if self._ending == "stuck" else self.share
        return Repeat(
            share,
            self._ending,
            self._levels,
            self.lowest,
            share or below,
            self._drawn,
            self._failing,
        )

    def _random_normals(self) -> Tensor:
        return torch.as_tensor(self._source().normal(self._count, self._latent.size))

    def _source(self) -> Source:
        self._blocks += 1
        return block_source(self._key, self._blocks, self._wide, self._device)
