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

from assay.analyse.count.shares import Shares
from assay.bounds.interval import enclosing_box
from assay.bounds.rounding import TINY, UNIT
from assay.errors import Unsupported
from assay.question.region import Box

OFF, ON, OPEN = 0, 1, 2
"""Phases of a unit on a cell: zero, affine, or neither for all that is known."""
QUANTA = 62
MOST_HALVINGS = 3
"""Of a cell at once."""
_POWERS = torch.tensor([2.0**-k for k in range(64)], dtype=torch.float64)
_LEAST_SHARE = 2.0**-56
"""A cell is halved while its quanta still tell apart what is known of it."""
_ROOM = 2.0**10
"""A side is halved while it is so much wider than the rounding of its bounds."""
_LITTLE = 1e-9
"""What a whole side counts beside the greatest score."""


@dataclass(frozen=True, eq=False)
class Cells:
    """N cells: `corner` [N, n] in the unit cube, exact, and how often each side was halved [N, n].

    Quanta [N]: between `low` and `high` of them violate. `plane` [N, n + 1], weights and offset
    for the place t in [-1, 1]^n, has only violations beneath it, between `inner_low` and
    `inner_high` quanta. `axes` [N, MOST_HALVINGS] are to be halved next, -1 if no side can be, or
    no halving would narrow anything. `suspect` [N] cells may be settled by an exact look, and
    `packed` says which units are off, on or open, four to a byte, and `load` [N] how many are open
    (none for networks of other kinds).
    """

    corner: Tensor
    depth: Tensor
    low: Tensor
    high: Tensor
    inner_low: Tensor
    inner_high: Tensor
    plane: Tensor
    axes: Tensor
    suspect: Tensor
    packed: Tensor
    load: Tensor

    @classmethod
    def of(
        cls,
        corner: Tensor,
        size: Tensor,
        shares: Shares,
        axes: Tensor,
        suspect: Tensor,
        phases: Tensor,
    ) -> Cells:
        low, high = quanta(shares.must, size, up=False), quanta(shares.may, size, up=True)
        inner_low = quanta(shares.beneath, size, up=False)
        inner_high = quanta(shares.beneath_most, size, up=True)
        depth = (-size.log2()).round().to(torch.int8)
        load = (phases == OPEN).sum(1).to(torch.int16)
        known = (low, high, inner_low, inner_high, shares.plane)
        return cls(corner, depth, *known, axes, suspect, _packed(phases), load)

    def __len__(self) -> int:
        return len(self.low)

    @property
    def gap(self) -> Tensor:
        return self.high - self.low

    @property
    def quanta(self) -> Tensor:
        """Of the whole cells."""
        return (self.size.prod(1) * 2.0**QUANTA).long()

    @property
    def bytes_each(self) -> int:
        tensors = [getattr(self, name) for name in self.__dataclass_fields__]
        return sum(t.element_size() * (t.numel() // len(t)) for t in tensors)

    @property
    def size(self) -> Tensor:
        """Of the sides [N, n], exact powers of two."""
        return _POWERS[self.depth.long()]

    def phases(self, units: int) -> Tensor:
        """Of all units, [N, units]."""
        return _unpacked(self.packed)[:, :units]

    def at(self, index: Tensor) -> Cells:
        return Cells(*(getattr(self, name)[index] for name in self.__dataclass_fields__))


def _packed(phases: Tensor) -> Tensor:
    """Four to a byte."""
    missing = -phases.shape[1] % 4
    padded = torch.nn.functional.pad(phases, (0, missing))
    first, second, third, fourth = (padded[:, k::4] for k in range(4))
    found: Tensor = first | second << 2 | third << 4 | fourth << 6
    return found


def _unpacked(packed: Tensor) -> Tensor:
    return torch.stack([packed >> shift & 3 for shift in (0, 2, 4, 6)], 2).flatten(1)


def joined(parts: Sequence[Cells]) -> Cells:
    if len(parts) == 1:
        return parts[0]
    names = Cells.__dataclass_fields__
    return Cells(*(torch.cat([getattr(part, name) for part in parts]) for name in names))


def pieces(cells: Cells, halvings: int) -> tuple[Tensor, Tensor]:
    """Corners and sizes of the 2^halvings pieces of every cell."""
    corner, size, axes = cells.corner, cells.size, cells.axes
    if not bool((axes[:, :halvings] >= 0).all()):
        halvings = 1
    for turn in range(halvings):
        number, axis = torch.arange(len(corner)), axes[:, turn].long()
        size, further = size.clone(), corner.clone()
        size[number, axis] *= 0.5
        further[number, axis] += size[number, axis]
        corner, size = torch.cat([corner, further]), torch.cat([size, size])
        axes = torch.cat([axes, axes])
    return corner, size


def halving_axes(grid: Grid, scores: Tensor, size: Tensor) -> Tensor:
    """The sides of the highest scores, one after another; halving a side halves its score.

    Of equal scores, all zero perhaps, the longest side comes first: never one side alone.
    """
    axes = torch.full((len(size), MOST_HALVINGS), -1, dtype=torch.int8)
    if not size.shape[1]:
        return axes
    best_score = scores.amax(1, keepdim=True)
    scores = scores / torch.where(best_score > 0, best_score, 1.0) + _LITTLE * size
    size, number = size.clone(), torch.arange(len(size))
    for turn in range(MOST_HALVINGS):
        divisible = grid.divisible(size)
        best = torch.where(divisible, scores, -1.0).argmax(1)
        axes[:, turn] = torch.where(divisible.any(1), best, -1)
        scores[number, best] *= 0.5
        size[number, best] *= 0.5
    return axes


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
