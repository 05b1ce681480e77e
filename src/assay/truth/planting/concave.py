"""Bumps over convex sets: a soft box, a rotated box and a simplex.

F is its top minus hinges relu(a_j · x + b_j), so F >= C / v where their sum is at most the level:
the set of points that no hinge charges, and a rim around it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import isqrt

import numpy as np
from numpy.random import Generator

from assay.errors import CannotCertify
from assay.truth.dyadic import leading_exponent, nearest, power
from assay.truth.planting.hull import Corner, Hull, Slabs
from assay.truth.planting.matrices import Matrix, hadamard_blocks
from assay.truth.planting.placement import GRID, Extent, Site, offsets, squeeze
from assay.truth.planting.plant import Heights, Layers, Plant, with_bump

_COARSE = -18
_MOST_DRAWN = 100
_LEAST_REACH = Fraction(3, 2)
"""Of a rotated box or a simplex of half-width 1; that of more than two inputs is mostly larger."""


@dataclass(frozen=True)
class SoftBox:
    """Half of each side, and the heights; its rim is a quarter of the width asked for at most."""

    widths: tuple[Fraction, ...]
    heights: Heights

    @property
    def extents(self) -> list[Extent]:
        return [Extent(w + self.heights.level, w + self.heights.level) for w in self.widths]

    def hull(self, rows: Matrix, places: Sequence[Fraction]) -> Slabs:
        """Around a box whose centre the rows bring to these places."""
        return Slabs.around(
            rows,
            [p - e.down for p, e in zip(places, self.extents, strict=True)],
            [p + e.up for p, e in zip(places, self.extents, strict=True)],
        )


def box_widths(draw: Generator, site: Site) -> tuple[Fraction, ...]:
    """Sides from three quarters to five quarters of what is asked."""
    asked = site.width * site.epsilon
    numerators = draw.integers(48, 80, size=len(site.middle), endpoint=True)
    return tuple(max(nearest(asked * int(n) / 64, GRID), power(GRID)) for n in numerators)


def drawn_box(draw: Generator, site: Site) -> SoftBox:
    asked = site.width * site.epsilon
    if site.tip:
        heights = Heights.of_rim(site.constant, site.excess, asked, asked)
        return SoftBox((Fraction(0),) * len(site.middle), heights)
    widths = box_widths(draw, site)
    return SoftBox(widths, Heights.of_rim(site.constant, site.excess, asked / 4, asked))


def interval_hinges(
    middles: Sequence[Fraction], widths: Sequence[Fraction]
) -> tuple[Matrix, Matrix]:
    """relu(x_i - upper_i) and relu(lower_i - x_i) for every input."""
    one = np.eye(len(middles))
    upper = [-float(m + w) for m, w in zip(middles, widths, strict=True)]
    lower = [float(m - w) for m, w in zip(middles, widths, strict=True)]
    return np.concatenate([one, -one]), np.array([*upper, *lower])


def soft_box(draw: Generator, site: Site) -> Plant:
    box = drawn_box(draw, site)
    thin = squeeze(draw, site, max(extent.up for extent in box.extents))
    factors = thin.factors
    extents = [e.squeezed(f) for e, f in zip(box.extents, factors, strict=True)]
    centre = site.moved(offsets(draw, site, extents, touching=thin.touching))
    stretched = [c * f for c, f in zip(centre, factors, strict=True)]
    # a width on its grid in the coordinates of the inputs
    widths = [
        max(nearest(w / f, GRID), power(GRID)) * f if w else w
        for w, f in zip(box.widths, factors, strict=True)
    ]
    matrix = np.diag(_floats(factors))
    hull = replace(box, widths=tuple(widths)).hull(matrix, stretched)
    if site.tip:
        return _tipped(matrix, stretched, box.heights, centre, hull)
    hinges, biases = interval_hinges(stretched, widths)
    below: Layers = ((hinges @ matrix, biases),)
    return with_bump(below, [Fraction(1)] * (2 * len(centre)), box.heights, centre, hull)


def _tipped(
    rows: Matrix,
    tips: Sequence[Fraction],
    heights: Heights,
    witness: tuple[Fraction, ...],
    hull: Hull,
) -> Plant:
    """A bump whose tip is where the rows have these values, and no plateau.

    2 relu(t - tip) + relu(foot + tip - t) is foot + |t - tip| as far as the foot. No unit changes
    its sign at the same place as another, so the tip is no part of its own.
    """
    foot = power(leading_exponent(heights.top) + 1)
    weight = np.concatenate([2 * rows, -rows])
    bias = np.array([*(-2 * float(t) for t in tips), *(float(foot + t) for t in tips)])
    row = [Fraction(1)] * len(weight)
    return with_bump(((weight, bias),), row, heights, witness, hull, lifted=foot * len(tips))


def rotated_box(draw: Generator, site: Site) -> Plant:
    """Pairs of opposite dense rows, orthogonal to each other."""
    rows = _directions(draw, len(site.middle))
    back = _inverse(rows)
    reach = max(sum(abs(w) for w in row) + max(abs(w) for w in row) for row in back)
    grid = _dense_grid(site.width, site.depth)
    half = nearest(site.width * site.epsilon / reach, grid)
    chosen = _dense_heights(site, half)
    slack = half + power(grid)
    extents = []
    for row in back:
        most = slack * sum(abs(w) for w in row) + chosen.level * max(abs(w) for w in row)
        extents.append(Extent(most, most))
    centre, rows = _placed(draw, site, extents, rows)
    at_centre = [nearest(t, grid) for t in _images(rows, centre)]
    matrix = np.array([_floats(row) for row in rows])
    upper = [-float(t + half) for t in at_centre]
    lower = [float(t - half) for t in at_centre]
    below: Layers = ((np.concatenate([matrix, -matrix]), np.array([*upper, *lower])),)
    halves = SoftBox((half,) * len(rows), chosen)
    hull = halves.hull(matrix, at_centre)
    return with_bump(below, [Fraction(1)] * (2 * len(site.middle)), chosen, centre, hull)


def simplex(draw: Generator, site: Site) -> Plant:
    """Dense rows, orthogonal to each other, and minus their sum: all hinges close a simplex."""
    rows, closing = _closed_directions(draw, len(site.middle))
    back, count = _inverse(rows), len(site.middle) + 1
    sizes = [_simplex_extent(row, Fraction(1), count, Fraction(1)) for row in back]
    reach = max(max(extent.down, extent.up) for extent in sizes)
    grid = _dense_grid(site.width, site.depth)
    half = nearest(site.width * site.epsilon / reach, grid)
    chosen = _dense_heights(site, half)
    slack = half + power(grid)
    extents = [_simplex_extent(row, slack, count, chosen.level) for row in back]
    centre, all_rows = _placed(draw, site, extents, [*rows, closing])
    biases = np.array([-float(nearest(t, grid) + half) for t in _images(all_rows, centre)])
    matrix = np.array([_floats(row) for row in all_rows])
    hull = Corner.around(matrix, biases, chosen.level)
    return with_bump(((matrix, biases),), [Fraction(1)] * count, chosen, centre, hull)


def _placed(
    draw: Generator, site: Site, extents: Sequence[Extent], rows: Sequence[Sequence[Fraction]]
) -> tuple[tuple[Fraction, ...], list[tuple[Fraction, ...]]]:
    """The centre of a plant of these extents, and the rows that make it thinner near a face."""
    thin = squeeze(draw, site, max(max(e.down, e.up) for e in extents))
    reached = [e.squeezed(f) for e, f in zip(extents, thin.factors, strict=True)]
    centre = site.moved(offsets(draw, site, reached, touching=thin.touching))
    return centre, [tuple(w * f for w, f in zip(row, thin.factors, strict=True)) for row in rows]


def _simplex_extent(row: Sequence[Fraction], half: Fraction, count: int, level: Fraction) -> Extent:
    """How far x_i gets where the values z_j = a_j · (x - c) - half are charged `level` at most."""
    base, reach = half * sum(row), count * half + level
    least, most = min(*row, Fraction(0)), max(*row, Fraction(0))
    return Extent(reach * most - level * least - base, base + level * most - reach * least)


def is_too_thin(width: Fraction, epsilon: Fraction, depth: Fraction) -> bool:
    """Whether no rotated box or simplex of this width is as thick as its grid asks for."""
    return nearest(width * epsilon / _LEAST_REACH, _dense_grid(width, depth)) < _thinnest(
        width, depth
    )


def _dense_grid(width: Fraction, depth: Fraction) -> int:
    """The grid of the biases of dense rows: coarser where a plant is squeezed, so steep."""
    steepest = 4 * width / depth if depth else Fraction(1)
    return _COARSE + max(leading_exponent(steepest), 0)


def _thinnest(width: Fraction, depth: Fraction) -> Fraction:
    return 4 * power(_dense_grid(width, depth))


def _dense_heights(site: Site, half: Fraction) -> Heights:
    if half < _thinnest(site.width, site.depth):
        raise CannotCertify(
            "planted: the plant is thinner than its grid; raise width, depth or epsilon, or lower "
            "inputs"
        )
    return Heights.of_rim(site.constant, site.excess, half, 4 * half)


def _floats(numbers: Sequence[Fraction]) -> Matrix:
    return np.array([float(number) for number in numbers])


def _images(rows: Sequence[Sequence[Fraction]], point: Sequence[Fraction]) -> list[Fraction]:
    return [sum((w * x for w, x in zip(row, point, strict=True)), Fraction(0)) for row in rows]


def _inverse(rows: Sequence[Sequence[Fraction]]) -> list[tuple[Fraction, ...]]:
    """Of rows that are orthogonal to each other, by rows."""
    norms = [sum((w * w for w in row), Fraction(0)) for row in rows]
    return [
        tuple(w / norm for w, norm in zip(column, norms, strict=True))
        for column in zip(*rows, strict=True)
    ]


def _directions(draw: Generator, count: int) -> list[tuple[Fraction, ...]]:
    """Orthogonal rows of length about 1 that all read several inputs: short dyadic numbers.

    Hadamard blocks, mirrored at a random plane: d I - 2 s s^T with signs s is d times a reflection.
    """
    for _ in range(_MOST_DRAWN):
        signs = draw.integers(0, 2, size=(2, count)) * 2 - 1
        blocks = hadamard_blocks(count)[:, draw.permutation(count)] * signs[0]
        mirrored = count * blocks - 2 * np.outer(blocks @ signs[1], signs[1])
        if ((mirrored != 0).sum(axis=1) >= 2).all():
            rows = mirrored[draw.permutation(count)]
            return [_about_one([int(w) for w in row]) for row in rows]
    raise CannotCertify("planted: no dense directions were found; try another seed")


def _closed_directions(
    draw: Generator, count: int
) -> tuple[list[tuple[Fraction, ...]], tuple[Fraction, ...]]:
    """Such rows, some twice as long, and minus their sum, which reads several inputs, too."""
    for _ in range(_MOST_DRAWN):
        factors = draw.integers(1, 3, count)
        drawn = zip(_directions(draw, count), factors, strict=True)
        rows = [tuple(w * int(factor) for w in row) for row, factor in drawn]
        closing = tuple(-sum(column, Fraction(0)) for column in zip(*rows, strict=True))
        if sum(w != 0 for w in closing) >= 2:
            return rows, closing
    raise CannotCertify("planted: no dense directions were found; try another seed")


def _about_one(row: Sequence[int]) -> tuple[Fraction, ...]:
    length = isqrt(sum(w * w for w in row))
    scale = power(-leading_exponent(Fraction(length)))
    return tuple(w * scale for w in row)
