"""The parts of a box during a count: cells of dyadic shares, what is known of each, in integers.

A box is the image of the unit cube; halving makes cells whose corners and sizes there are exact,
so that their shares of the box are powers of two whatever its bounds are. Shares are counted in
quanta of 2^-62 of the box, rounded outward cell by cell: sums of integers are exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import torch
from torch import Tensor

from assay.bounds.interval import enclosing_box
from assay.bounds.rounding import TINY, UNIT
from assay.errors import Unsupported
from assay.question.region import Box

QUANTA = 62
_LEAST_SHARE = 2.0**-56
"""A cell is halved while its quanta still tell apart what is known of it."""
_ROOM = 2.0**10
"""A side is halved while it is so much wider than the rounding of its bounds."""


@dataclass(frozen=True, eq=False)
class Cells:
    """N cells: `corner` [N, n] and `size` [N, n] in the unit cube, exact, sizes powers of two.

    Quanta [N]: between `low` and `high` of them violate. `plane` [N, n + 1], weights and offset
    for the place t in [-1, 1]^n, has only violations beneath it, between `inner_low` and
    `inner_high` quanta. `axis` is to be halved next, -1 if no side can be.
    """

    corner: Tensor
    size: Tensor
    low: Tensor
    high: Tensor
    inner_low: Tensor
    inner_high: Tensor
    plane: Tensor
    axis: Tensor

    def __len__(self) -> int:
        return len(self.low)

    @property
    def gap(self) -> Tensor:
        return self.high - self.low

    @property
    def quanta(self) -> Tensor:
        """Of the whole cells."""
        return (self.size.prod(1) * 2.0**QUANTA).long()

    def at(self, index: Tensor) -> Cells:
        return Cells(*(getattr(self, name)[index] for name in self.__dataclass_fields__))


def joined(parts: Sequence[Cells]) -> Cells:
    if len(parts) == 1:
        return parts[0]
    names = Cells.__dataclass_fields__
    return Cells(*(torch.cat([getattr(part, name) for part in parts]) for name in names))


def halves(cells: Cells) -> tuple[Tensor, Tensor]:
    """Corners and sizes of both halves of every cell, first halves first."""
    number = torch.arange(len(cells))
    size, corner = cells.size.clone(), cells.corner.clone()
    size[number, cells.axis] *= 0.5
    corner[number, cells.axis] += size[number, cells.axis]
    return torch.cat([cells.corner, corner]), torch.cat([size, size])


def quanta(shares: Tensor, size: Tensor, *, up: bool) -> Tensor:
    """Shares of cells [N] in whole quanta of the box, rounded as asked."""
    scaled = shares * (size.prod(1) * 2.0**QUANTA)
    return (scaled.ceil() if up else scaled.floor()).long()


@dataclass(frozen=True, eq=False)
class Grid:
    """The box behind the unit cube, in float64.

    `moving` are the flat indices of the n inputs that differ within it. The bounds and the middle
    of a cell come out within `blur` [inputs] of the exact ones.
    """

    low: Tensor
    high: Tensor
    base: Tensor
    width: Tensor
    blur: Tensor
    moving: Tensor

    @classmethod
    def of(cls, box: Box) -> Grid:
        low, high = (end[0] for end in enclosing_box(box))
        if not bool(torch.isfinite(low).all() & torch.isfinite(high).all()):
            raise Unsupported("a bound of the box is beyond float64; scale the inputs")
        pairs = list(zip(box.lower, box.upper, strict=True))
        moving = torch.tensor([i for i, (a, b) in enumerate(pairs) if a < b], dtype=torch.int64)
        widths = [_nearest(pairs[i][1] - pairs[i][0]) for i in moving.tolist()]
        # Base, width, their product and sum are each within a rounding or two of this size.
        blur = 16 * UNIT * torch.maximum(low.abs(), high.abs()) + TINY
        return cls(low, high, low[moving], torch.tensor(widths, dtype=low.dtype), blur, moving)

    def boxes(self, corner: Tensor, size: Tensor) -> tuple[Tensor, Tensor]:
        """Float64 boxes [N, inputs] around the cells."""
        blur = self.blur[self.moving]
        low, high = (end.repeat(len(corner), 1) for end in (self.low, self.high))
        low[:, self.moving] = self.base + self.width * corner - blur
        high[:, self.moving] = self.base + self.width * (corner + size) + blur
        return low, high

    def radii(self, size: Tensor) -> Tensor:
        """[N, n]: half the width of the cells, two roundings off."""
        return self.width * (size * 0.5)

    def points(self, corner: Tensor, size: Tensor, place: Tensor) -> Tensor:
        """Inputs [N, inputs] at the places t in [-1, 1]^n of the cells."""
        points = self.low.repeat(len(corner), 1)
        inside = corner + size * (0.5 * place + 0.5)
        points[:, self.moving] = self.base + self.width * inside
        return points

    def divisible(self, size: Tensor) -> Tensor:
        """Which sides may be halved, [N, n]."""
        wide = self.radii(size) > _ROOM * self.blur[self.moving]
        return wide & (size.prod(1, keepdim=True) > _LEAST_SHARE)


def _nearest(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        raise Unsupported("the box is wider than float64 reaches; scale the inputs") from None

