"""A soft box behind folds: every fold halves the box along each input and lays the halves together.

With t = x - lower in [0, 2 epsilon], a fold is the tent map 2 t - 4 relu(t - epsilon). It stretches
both halves over the whole side, so it keeps shares of volume, and each fold doubles, along each
input, the number of islands that violate.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.random import Generator

from assay.truth.planting.concave import drawn_box, interval_hinges
from assay.truth.planting.hull import Folded
from assay.truth.planting.matrices import Matrix
from assay.truth.planting.placement import Site, offsets
from assay.truth.planting.plant import Layers, Plant, with_bump


def tent(draw: Generator, site: Site, folds: int) -> Plant:
    middle, epsilon, count = site.middle, site.epsilon, len(site.middle)
    box = drawn_box(draw, site)
    # one fold puts the centre of the box at the upper end, the next ones at the lower end
    centre = epsilon if folds == 1 else -epsilon
    moved = offsets(draw, site, box.extents, avoided=centre)
    places = [epsilon + o for o in moved]
    hinges, biases = interval_hinges(places, box.widths)
    below: list[tuple[Matrix, Matrix]] = []
    one, zero = np.eye(count), np.zeros(count)
    lower = [float(epsilon - m) for m in middle]
    weight, bias = np.concatenate([one, one]), np.array([*lower, *(-float(m) for m in middle)])
    folded = np.concatenate([2 * one, -4 * one], axis=1)
    for _ in range(folds):
        below.append((weight, bias))
        weight = np.concatenate([folded, folded])
        bias = np.concatenate([zero, zero - float(epsilon)])
    last: Layers = (*below, (hinges @ folded, biases))
    witness = tuple(
        m - epsilon + _unfolded(draw, t, epsilon, folds)
        for m, t in zip(middle, places, strict=True)
    )
    inside = box.hull(one, places).within(0, 2 * float(epsilon))
    hull = Folded(inside, np.array([-v for v in lower]), float(epsilon), folds)
    return with_bump(last, [Fraction(1)] * (2 * count), box.heights, witness, hull)


def _unfolded(draw: Generator, place: Fraction, epsilon: Fraction, folds: int) -> Fraction:
    """A point that the folds bring to a place, on one island or another."""
    for _ in range(folds):
        place = place / 2 if draw.integers(2) else 2 * epsilon - place / 2
    return place
