"""Regions as images of standard normal vectors, for random walks that keep the uniform law.

A walk z -> sqrt(1 - s^2) z + s w with fresh normal w keeps the normal law in any dimension and for
any width s, without a step that leaves the region. So every region is written as an image of z that
is uniform if z is normal:

* box, norm inf, levels: the distribution function of the normal law makes every z_i uniform.
* l_2: the first d of the d + 2 coordinates of z / |z| are uniform in the ball (Archimedes).
* l_1: z_i becomes a Laplace number by its quantiles; d of d + 1, divided by the sum of all sizes,
  are uniform in the cross-polytope.

Ranges and levels are met by `placing`; there z counts only if its point is kept.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from assay.analyse.placing import Placing
from assay.analyse.regions import Region

_MORE = {None: 0, "1": 1, "2": 2}
"""Normal numbers beside one an input."""


class Latent:
    """The map of one region; `size` normal numbers make a point."""

    def __init__(self, region: Region, device: torch.device, wide: bool) -> None:
        self._place = Placing(region, device, wide)
        self._device = device
        self.size = region.dimension + _MORE[self._place.ball]

    def points(self, normals: Tensor) -> tuple[Tensor, Tensor]:
        """Points [n, d] of normal vectors [n, size], and which of them lie in the region [n]."""
        unit = self._unit(normals)
        points, kept = self._place(unit.numpy() if self._device.type == "cpu" else unit)
        found = torch.as_tensor(points)
        if kept is None:
            return found, torch.ones(len(found), dtype=torch.bool, device=found.device)
        return found, torch.as_tensor(kept)

    def _unit(self, normals: Tensor) -> Tensor:
        """Uniform in the unit cube (below 1, as random numbers are), or in the ball."""
        if self._place.ball is None:
            below_one = 1 - torch.finfo(normals.dtype).eps / 2
            uniform: Tensor = torch.special.ndtr(normals).clamp_(max=below_one)
            return uniform
        own = normals[:, : self._place.dimension]
        if self._place.ball == "2":
            lengths: Tensor = torch.linalg.vector_norm(normals, dim=1, keepdim=True)
            return own * (self._place.reach / lengths)
        logarithms: Tensor = torch.special.log_ndtr(-normals.abs())
        sizes = (-math.log(2) - logarithms).clamp_(min=0)
        shares = sizes[:, : self._place.dimension] / sizes.sum(1, keepdim=True)
        return shares.mul_(self._place.reach).copysign_(own)
