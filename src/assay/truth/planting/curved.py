"""A soft box behind smooth curves: every input passes a Sigmoid or Tanh before the hinges see it.

Of every input there are two curves: one that is convex on the box, which the hinge above the
plateau reads, and one that is concave, which the hinge below reads. Whoever takes a chord for the
curve believes that both charge more than they do, and that nothing is left of the plateau.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Literal

import numpy as np
from flint import fmpq
from numpy.random import Generator

from assay.proof.arithmetic import from_flint, to_flint
from assay.proof.curves import curve_value
from assay.question.graph import GraphBuilder
from assay.question.region import Box
from assay.truth.dyadic import leading_exponent, nearest, power
from assay.truth.planting.concave import box_widths
from assay.truth.planting.front import Front
from assay.truth.planting.hull import Slabs
from assay.truth.planting.matrices import float32_layer
from assay.truth.planting.placement import GRID, Extent, Site, offsets
from assay.truth.planting.plant import Heights, Plant, with_bump

Curve = Literal["sigmoid", "tanh"]
_OPERATORS: dict[Curve, str] = {"sigmoid": "Sigmoid", "tanh": "Tanh"}
_REACH = {"sigmoid": 2, "tanh": 1}
"""How far the curve's argument moves from the centre of the box to a face."""
_RIM = 16
"""The rim is at most this part of the width, so that a curve is nearly straight on it."""
_MOST_FLATTENED = 3


def curved_box(draw: Generator, site: Site, curve: Curve) -> tuple[Front, Plant]:
    count, reach = len(site.middle), _REACH[curve]
    steepness = nearest(reach / site.epsilon, leading_exponent(reach / site.epsilon) - 4)
    bends = [reach * Fraction(int(n), 16) for n in draw.integers(14, 19, 2 * count)]
    centres = [*site.middle, *site.middle]
    # convex ones first: their arguments are below zero
    shifts = [-b for b in bends[:count]] + bends[count:]
    arguments = [s - steepness * m for s, m in zip(shifts, centres, strict=True)]

    def bent(places: Sequence[Fraction]) -> list[Fraction]:
        """What the curves make of two places for every input, on the grid."""
        inside = (steepness * x + a for x, a in zip(places, arguments, strict=True))
        return [nearest(_value(curve, z), GRID) for z in inside]

    plant = _plant(draw, site, curve, steepness, bent)
    order = draw.permutation(2 * count)
    signs = draw.integers(0, 2, 2 * count) * 2.0 - 1
    turned = np.diag(signs)[:, order]
    weight = turned.T @ np.concatenate([np.eye(count)] * 2) * float(steepness)
    layer = float32_layer(weight, turned.T @ np.array([float(a) for a in arguments]))
    # the curve of -z is one minus that of z, or minus that of z
    lift = np.where(signs < 0, 1.0 if curve == "sigmoid" else 0.0, 0.0)

    def write(graph: GraphBuilder) -> str:
        response = graph.gemm(graph.input, *layer)
        return graph.sigmoid(response) if curve == "sigmoid" else graph.tanh(response)

    ends = [bent([m + sign * site.epsilon for m in centres]) for sign in (-1, 1)]
    domain = Box(tuple(v - power(GRID) for v in ends[0]), tuple(v + power(GRID) for v in ends[1]))
    seen = turned.T @ (np.array([float(v) for v in bent(centres)]) - lift)
    at_middle = tuple(Fraction(float(v)) for v in seen)
    return Front((count,), (), write, turned, lift, domain, at_middle, bent=True), plant


def _plant(
    draw: Generator,
    site: Site,
    curve: Curve,
    steepness: Fraction,
    bent: Callable[[Sequence[Fraction]], list[Fraction]],
) -> Plant:
    count, asked = len(site.middle), site.width * site.epsilon
    widths = box_widths(draw, site)
    heights = Heights.of_rim(site.constant, site.excess, asked / _RIM, asked)
    rim = _MOST_FLATTENED * heights.level
    centre = site.moved(offsets(draw, site, [Extent(w + rim, w + rim) for w in widths]))
    upper = [c + w for c, w in zip(centre, widths, strict=True)]
    lower = [c - w for c, w in zip(centre, widths, strict=True)]
    starts = bent([*upper, *lower])
    signs = [1] * count + [-1] * count
    rates = []
    for start, sign in zip(starts, signs, strict=True):
        flat = start * (1 - start) if curve == "sigmoid" else 1 - start * start
        rates.append(sign * power(leading_exponent(1 / (flat * steepness))))
    hinges = np.diag([float(rate) for rate in rates])
    biases = np.array([-float(r * s) for r, s in zip(rates, starts, strict=True)])
    hull = Slabs.around(np.eye(count), [v - rim for v in lower], [v + rim for v in upper])
    return with_bump(((hinges, biases),), [Fraction(1)] * (2 * count), heights, centre, hull)


def _value(curve: Curve, argument: Fraction) -> Fraction:
    low, high = curve_value(_OPERATORS[curve], to_flint(argument))
    return from_flint((low + high) * fmpq(1, 2))
