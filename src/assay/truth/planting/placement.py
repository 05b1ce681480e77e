"""Where a plant lies in its box, so that the box's centre is not in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from numpy.random import Generator

from assay.errors import BadInput
from assay.truth.dyadic import leading_exponent, nearest, power

Placement = Literal["inside", "face", "corner", "past_middle"]
GRID = -20
_GAP = 64
"""A plant just past the middle keeps this part of epsilon between, or a quarter of its depth."""


@dataclass(frozen=True)
class Site:
    """Where a plant is to be, how wide, and by how much its bump exceeds the constant.

    A positive `depth` is how far from its face, corner or middle plane a plant may reach, over
    epsilon. With a `tip` its plateau is a single point.
    """

    middle: tuple[Fraction, ...]
    epsilon: Fraction
    width: Fraction
    placement: Placement
    depth: Fraction
    tip: bool
    constant: Fraction
    excess: Fraction

    @property
    def gap(self) -> Fraction:
        """Between the plant and the point that it must not cover."""
        if self.placement == "past_middle" and self.depth:
            return self.depth * self.epsilon / 4
        return self.epsilon / _GAP

    def moved(self, offsets: Sequence[Fraction]) -> tuple[Fraction, ...]:
        """The middle of the box, moved."""
        return tuple(m + o for m, o in zip(self.middle, offsets, strict=True))


@dataclass(frozen=True)
class Extent:
    """How far a plant reaches from its centre along one input, down and up."""

    down: Fraction
    up: Fraction

    def squeezed(self, factor: Fraction) -> Extent:
        return Extent(self.down / factor, self.up / factor)


@dataclass(frozen=True)
class Squeeze:
    """How many times thinner a plant is along each input: powers of two."""

    factors: tuple[Fraction, ...]
    touching: int | None
    """The input whose face the plant touches, if it is chosen beforehand."""


def squeeze(draw: Generator, site: Site, reach: Fraction) -> Squeeze:
    """So that a plant that reaches so far from its centre stays within its depth."""
    count, one = len(site.middle), Fraction(1)
    if site.depth == 0 or site.placement == "inside":
        return Squeeze((one,) * count, None)
    touching = int(draw.integers(count))
    thick = site.depth * site.epsilon - (site.gap if site.placement == "past_middle" else 0)
    thinner = max(2 * reach / thick, one)
    exponent = leading_exponent(thinner)
    factor = power(exponent if power(exponent) >= thinner else exponent + 1)
    chosen = range(count) if site.placement == "corner" else [touching]
    return Squeeze(tuple(factor if i in chosen else one for i in range(count)), touching)


def offsets(
    draw: Generator,
    site: Site,
    extents: Sequence[Extent],
    *,
    touching: int | None = None,
    avoided: Fraction = Fraction(0),
) -> list[Fraction]:
    """The plant's centre relative to the middle of [-epsilon, epsilon] for every input.

    `avoided` is the coordinate, the same for all inputs, of the point that must not be covered.
    """
    epsilon, placement, gap = site.epsilon, site.placement, site.gap
    sides = [_free_sides(extent, epsilon, avoided, gap) for extent in extents]
    chosen = [i for i, side in enumerate(sides) if side]
    if not chosen:
        raise BadInput("planted: the plant contains the centre of the box; lower width")
    special = chosen[int(draw.integers(len(chosen)))] if touching is None else touching
    found = []
    for i, extent in enumerate(extents):
        low, high = extent.down - epsilon, epsilon - extent.up
        signs = sides[i] or [-1, 1]
        sign = signs[int(draw.integers(len(signs)))]
        far = high if sign > 0 else low
        near = avoided + gap + extent.down if sign > 0 else avoided - gap - extent.up
        share = Fraction(int(draw.integers(1, 64)), 64)
        if placement == "corner" or (placement == "face" and i == special):
            offset = far
        elif placement == "past_middle" and i == special:
            offset = extent.down + gap if sign > 0 else -gap - extent.up
        elif placement == "past_middle":
            offset = min(max((share - Fraction(1, 2)) * epsilon / 4, low), high)
        elif i == special:
            offset = near + share * (far - near)
        else:
            offset = low + share * (high - low)
        # towards the middle of what is allowed, so that rounding never leaves the box
        offset = nearest(offset, GRID)
        if offset > high:
            offset -= power(GRID)
        if offset < low:
            offset += power(GRID)
        found.append(offset)
    return found


def _free_sides(
    extent: Extent, epsilon: Fraction, avoided: Fraction, gap: Fraction
) -> list[Literal[-1, 1]]:
    """On which sides of the point to avoid there is room, along one input."""
    sides: list[Literal[-1, 1]] = []
    if avoided - gap - extent.up >= extent.down - epsilon + 2 * power(GRID):
        sides.append(-1)
    if avoided + gap + extent.down <= epsilon - extent.up - 2 * power(GRID):
        sides.append(1)
    return sides
