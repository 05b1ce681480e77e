"""Regions whose uniform law is known in closed form, and what their points are tested for.

In a ball of l_p in d dimensions the distance r from the centre has r^d uniform and is independent
of the direction. Of a direction of l_2, one squared coordinate follows Beta(1/2, (d - 1)/2); of one
of l_1, an absolute coordinate follows Beta(1, d - 1). Signs are fair, unless the range folds them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Literal

import numpy as np
import torch
from scipy.special import betainc

from assay.analyse.calibration.laws import (
    GRID_BITS,
    Floats,
    discrete_chance,
    independence_chances,
    repeat_chance,
    uniform_chance,
)
from assay.analyse.regions import Ball, BoxRegion, Norm, Region

Kind = Literal["boxes", "l1 balls", "l2 balls", "levels"]
Chances = Callable[[Floats], Iterator[tuple[str, float]]]
MANY_POINTS, FEW_POINTS = 40_000, 8_192
MANY_INPUTS = 64
"""From here on samplers work in float32, another way."""
_SINGLE_SLACK = 1e-4
"""Of uniform numbers computed from points in float32, for up to some hundred inputs."""
_SINGLE_BITS = 20
_NEAR = 1e-9
"""So near its corner a ball is drawn as one that most points leave, and has the law of the corner
but for less than _NEAR_SLACK."""
_NEAR_SLACK = 1e-6
_MOST_COLUMNS = 6


@dataclass(frozen=True)
class SampledLaw:
    """A region, how many points of which type are drawn, and their tests by name."""

    kind: Kind
    name: str
    region: Region
    points: int
    dtype: torch.dtype
    chances: Chances


def sampled_laws(box: BoxRegion) -> Iterator[SampledLaw]:
    """The box of a question, and balls in as many dimensions and in many more."""
    few, many = box.dimension, MANY_INPUTS + box.dimension
    wide = BoxRegion(np.zeros(many), np.ones(many))
    if bool((box.lower < box.upper).any()):
        yield _law("boxes", "its own", box, _box_chances(box))
    yield _law("boxes", f"{MANY_INPUTS} and more inputs", wide, _box_chances(wide))
    norms: tuple[Norm, ...] = ("1", "2")
    for norm in norms:
        yield _ball("whole", few, norm)
        yield _ball("at a corner of the range", few, norm, corner=0.0)
        yield _ball("near a corner of the range", few, norm, corner=_NEAR)
        yield _ball(f"{MANY_INPUTS} and more inputs", many, norm)
    yield _cut_ball(few)
    yield _levels(few)
    for norm in norms:
        yield _grid_ball(norm)


def _law(kind: Kind, name: str, region: Region, chances: Chances) -> SampledLaw:
    many = region.dimension > MANY_INPUTS
    points, dtype = (FEW_POINTS, torch.float32) if many else (MANY_POINTS, torch.float64)
    return SampledLaw(kind, name, region, points, dtype, chances)


def in_unit_cube(points: Floats, box: BoxRegion) -> Floats:
    """Points of a box as those of the unit cube; inputs that do not vary are left out."""
    moves = box.lower < box.upper
    return np.asarray(
        np.clip((points - box.lower)[:, moves] / (box.upper - box.lower)[moves], 0.0, 1.0)
    )


def _box_chances(box: BoxRegion) -> Chances:
    def chances(points: Floats) -> Iterator[tuple[str, float]]:
        unit = in_unit_cube(points, box)
        slack, bits = _precision(box.dimension)
        yield "points repeat", repeat_chance(unit, bits)[1]
        some = unit[:, :_MOST_COLUMNS]
        for column in some.T:
            yield "coordinates", uniform_chance(column, slack)
        for chance in independence_chances(some, slack):
            yield "independence", chance

    return chances


def _ball(name: str, dimension: int, norm: Norm, corner: float | None = None) -> SampledLaw:
    kind: Kind = "l1 balls" if norm == "1" else "l2 balls"
    if corner is None:
        region = Ball(np.zeros(dimension), 1.0, norm)
    else:
        region = Ball(np.full(dimension, corner), 1.0, norm, valid=(0.0, 4.0))
    folded = corner is not None
    return _law(kind, name, region, _ball_chances(region, folded=folded, near=bool(corner)))


def _ball_chances(ball: Ball, *, folded: bool, near: bool) -> Chances:
    order, dimension = int(ball.norm), ball.dimension

    def chances(points: Floats) -> Iterator[tuple[str, float]]:
        slack, bits = _precision(dimension)
        slack += _NEAR_SLACK if near else 0.0
        offsets = points - ball.centre
        unit = np.clip((offsets + 1) / 2, 0.0, 1.0)
        yield "points repeat", repeat_chance(unit, bits)[1]
        distance = (abs(offsets) ** order).sum(1) ** (1 / order)
        far = np.minimum(distance, 1.0) ** dimension
        yield "distances", uniform_chance(far, slack)
        if dimension == 1:
            return
        parts = abs(offsets) / np.maximum(distance, np.finfo(np.float64).tiny)[:, None]
        for k in (0, dimension // 2, dimension - 1):
            share = np.clip(parts[:, k], 0.0, 1.0)
            place = (
                betainc(0.5, (dimension - 1) / 2, share**2)
                if order == 2
                else betainc(1.0, dimension - 1.0, share)
            )
            if not folded:
                place = (1 + np.where(offsets[:, k] < 0, -place, place)) / 2
            yield "directions", uniform_chance(place, slack)
            for chance in independence_chances(np.stack([far, place], axis=1), slack):
                yield "independence", chance

    return chances


def _cut_ball(dimension: int) -> SampledLaw:
    """Only the first input of the centre is near an end of the range."""
    depth = 0.25
    centre = np.full(dimension, 50.0)
    centre[0] = depth
    region = Ball(centre, 1.0, "2", valid=(0.0, 100.0))

    def below(offset: Floats) -> Floats:
        tail = betainc(0.5, (dimension + 1) / 2, np.minimum(offset**2, 1.0))
        return np.asarray((1 + np.sign(offset) * tail) / 2)

    def chances(points: Floats) -> Iterator[tuple[str, float]]:
        cut = below(np.asarray(-depth))
        place = (below(points[:, 0] - depth) - cut) / (1 - cut)
        yield "the cut coordinate", uniform_chance(np.clip(place, 0.0, 1.0), _NEAR_SLACK)

    return _law("l2 balls", "cut by the range", region, chances)


def _levels(dimension: int) -> SampledLaw:
    """Seven levels of eleven in every input, at an end of the range in every second one."""
    centre = np.where(np.arange(dimension) % 2, 0.5, 0.3)
    region = Ball(centre, 0.3, "inf", valid=(0.0, 1.0), levels=11)
    first, last = region.grid()

    def chances(points: Floats) -> Iterator[tuple[str, float]]:
        steps = np.rint(points * 10).astype(np.int64) - first
        for k in range(min(dimension, _MOST_COLUMNS)):
            count = int(last[k] - first[k]) + 1
            yield "levels", discrete_chance(steps[:, k], np.full(count, 1 / count))

    return _law("levels", "of a box", region, chances)


def _grid_ball(norm: Norm) -> SampledLaw:
    """All grid points within three levels of the middle of 21 x 21: 25 or 29 of them."""
    region = Ball(np.full(2, 0.5), 0.15, norm, valid=(0.0, 1.0), levels=21)
    near = np.array(
        [
            (i, j)
            for i, j in product(range(-3, 4), repeat=2)
            if (abs(i) + abs(j) <= 3 if norm == "1" else i * i + j * j <= 9)
        ]
    )
    number = np.full((21, 21), -1)
    number[near[:, 0] + 10, near[:, 1] + 10] = np.arange(len(near))

    def chances(points: Floats) -> Iterator[tuple[str, float]]:
        steps = np.rint(points * 20).astype(np.int64)
        found = number[steps[:, 0], steps[:, 1]]
        yield "grid points", discrete_chance(found, np.full(len(near), 1 / len(near)))

    return _law("levels", f"of an l{norm} ball", region, chances)


def _precision(dimension: int) -> tuple[float, int]:
    if dimension > MANY_INPUTS:
        return _SINGLE_SLACK, _SINGLE_BITS
    return 1e-9, GRID_BITS
