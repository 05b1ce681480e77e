"""How much of a cell violates, from planes beneath and above every excess.

Every inequality of the violation says that a linear function of the outputs, its excess, is at
most zero. On a cell the excess lies between two affine functions l and u of the place, so the
inequality holds where u <= 0 and fails where l > 0. Of an AND the shares where it must and may
hold are max(0, 1 - sum (1 - inner)) and the least outer; of an OR they are the greatest inner and
min(1, sum of outer) (Fréchet). Without an open unit on the cell l and u coincide.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from assay.analyse.count.halfspace import shares_below
from assay.bounds.rounding import UNIT, gamma
from assay.question.property import Violation


@dataclass(frozen=True, eq=False)
class Planes:
    """weights t + offset for t in [-1, 1]^n, [N, D, K, n] and [N, D, K], right within `slack`.

    `lower` is below the excess of inequality k of disjunct d on the whole cell, `upper` above it.
    """

    lower: Tensor
    lower_offset: Tensor
    upper: Tensor
    upper_offset: Tensor
    slack: Tensor


def joined_planes(parts: Sequence[Planes]) -> Planes:
    if len(parts) == 1:
        return parts[0]
    names = Planes.__dataclass_fields__
    return Planes(*(torch.cat([getattr(part, name) for part in parts]) for name in names))


@dataclass(frozen=True, eq=False)
class Shares:
    """Of each cell [N]: between `must` and `may` violate.

    `plane` [N, n + 1] has only violations beneath it, between `beneath` and `beneath_most`.
    `doubt` [N, D, K] is the share that each inequality leaves open.
    """

    must: Tensor
    may: Tensor
    plane: Tensor
    beneath: Tensor
    beneath_most: Tensor
    doubt: Tensor


class ShareRule:
    """The shares of one violation; rows [D, K] as in `assay.bounds.inequalities.Excesses`."""

    def __init__(self, violation: Violation, rows: int) -> None:
        counts = torch.tensor([len(d) for d in violation.disjuncts])
        self.stated = torch.arange(rows) < counts.unsqueeze(1)
        """Which rows [D, K] are inequalities of the violation; others only follow from them."""
        self.alone = counts == 1

    def shares(self, planes: Planes) -> Shares:
        least, greatest = _shares(
            torch.stack([planes.lower, planes.upper]),
            torch.stack([planes.lower_offset, planes.upper_offset]),
            torch.stack([planes.slack, planes.slack]),
        )
        outer, inner, most = greatest[0], least[1], greatest[1]
        must = _must_hold(inner, self.stated)
        may = torch.maximum(_may_hold(outer), must)
        plane, beneath, beneath_most = self._beneath_one(planes, inner, most)
        return Shares(must, may, plane, beneath, beneath_most, (outer - inner).clamp(min=0))

    def _beneath_one(
        self, planes: Planes, inner: Tensor, most: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Of the disjuncts of one inequality, the plane with most beneath it, and how much."""
        flat = torch.cat([planes.upper, planes.upper_offset.unsqueeze(3)], 3)[:, :, 0]
        if not bool(self.alone.any()):
            nowhere = torch.zeros_like(flat[:, 0])
            nowhere[:, -1] = math.inf
            return nowhere, torch.zeros_like(nowhere[:, 0]), torch.zeros_like(nowhere[:, 0])
        best = torch.where(self.alone, inner[:, :, 0], -1.0).argmax(1)
        number = torch.arange(len(best))
        return flat[number, best], inner[number, best, 0], most[number, best, 0]


def _shares(weights: Tensor, offsets: Tensor, slack: Tensor) -> tuple[Tensor, Tensor]:
    low, high = shares_below(weights.flatten(0, -2), offsets.flatten(), slack.flatten())
    return low.reshape(offsets.shape), high.reshape(offsets.shape)


def _may_hold(outer: Tensor) -> Tensor:
    """Upper bounds [N] from those of every inequality, [N, D, K]."""
    total = outer.amin(2).sum(1)
    if outer.shape[1] > 1:
        total = total * (1 + gamma(outer.shape[1]))
    return total.clamp(max=1)


def _must_hold(inner: Tensor, stated: Tensor) -> Tensor:
    """Lower bounds [N] from those of every inequality."""
    if stated.shape[1] == 1:
        return inner[:, :, 0].amax(1)
    missing = torch.where(stated, 1 - inner, 0.0).sum(2) * (1 + gamma(stated.shape[1] + 1))
    several = (1 - missing - 2 * UNIT).clamp(min=0)
    several = torch.where(missing == 0, 1.0, several)
    return torch.where(stated.sum(1) == 1, inner[:, :, 0], several).amax(1)
