"""The background: ordinary layers around plants, of which label and targets read the same.

Every hidden layer holds the plants' units, background units and, for dilution, pairs of background
units that are positive multiples of each other. Background units read everything. The plants' units
read the plants and, with weights that cancel exactly, the pairs; so do label and targets. Units are
permuted, and scaled by powers of two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.random import Generator

from assay.question.floaterror import Layer
from assay.truth.assemble import mlp_outputs
from assay.truth.cnn_design import gain_exponent
from assay.truth.dyadic import nearest
from assay.truth.planting.front import Front
from assay.truth.planting.matrices import HIGHEST_WEIGHT, Matrix, float32_layer, short_weights
from assay.truth.planting.plant import Layers
from assay.truth.randomness import Integers, signed

_BIAS_BITS = 10


@dataclass(frozen=True)
class Wood:
    """One hidden layer's background units, and how the plants' units read the pairs below."""

    weight: Matrix
    bias: Matrix
    plain: int
    """So many rows stand alone; the others are pairs, first members first."""
    fill: Matrix
    order: tuple[int, ...]


@dataclass(frozen=True)
class Background:
    front: Front
    woods: tuple[Wood, ...]

    def hidden(self, plant: Layers) -> tuple[Layer, ...]:
        """All layers between the front and the outputs, the plant among them."""
        layers: list[Layer] = []
        order: Sequence[int] = range(self.front.back.shape[1])
        for number, (wood, (weight, bias)) in enumerate(zip(self.woods, plant, strict=True)):
            if number == 0:
                weight, bias = self.front.read(weight, bias)
            rows = np.concatenate([np.concatenate([weight, wood.fill], axis=1), wood.weight])
            offsets = np.concatenate([bias, wood.bias])
            own = list(wood.order)
            layers.append(float32_layer(rows[own][:, list(order)], offsets[own]))
            order = own
        return tuple(layers)

    def readout(self, draw: Generator, label: int, targets: Sequence[int], bumps: Matrix) -> Matrix:
        """Weights of the outputs; label and targets differ at the bumps, and by what cancels."""
        wood, (classes, count) = self.woods[-1], bumps.shape
        weights = short_weights(draw, (classes, len(wood.order)))
        pairs = slice(count + wood.plain, None)
        for target in targets:
            weights[target] = weights[label]
            weights[target, pairs] += _cancelling(draw, wood, 1)[0, wood.plain :]
        weights[:, :count] = bumps
        return weights[:, list(wood.order)]


def grown(draw: Generator, front: Front, plant: Layers, neurons: int, dilution: int) -> Background:
    woods: list[Wood] = []
    for number, (weight, _) in enumerate(plant):
        below = woods[-1] if woods else None
        fan_in = front.back.shape[1] if below is None else len(below.order)
        fill = (
            np.zeros((len(weight), 0)) if below is None else _cancelling(draw, below, len(weight))
        )
        rows = short_weights(draw, (neurons + dilution, fan_in))
        bare = Wood(rows, np.zeros(len(rows)), neurons, fill, tuple(range(len(weight) + len(rows))))
        straight = Background(front, (*woods, bare)).hidden(plant[: number + 1])
        seen = mlp_outputs(straight, front.at_middle)[len(weight) :]
        shifts = draw.integers(-16, 17, len(rows))
        bias = np.array(
            [
                float(nearest(Fraction(int(s), 64) - v, -_BIAS_BITS))
                for s, v in zip(shifts, seen, strict=True)
            ]
        )
        scales = _powers(draw.integers(-1, 2, len(rows) + dilution))
        chosen = [*range(len(rows)), *range(neurons, len(rows))]
        units = len(weight) + len(chosen)
        order = tuple(int(i) for i in draw.permutation(units))
        woods.append(
            Wood(rows[chosen] * scales[:, None], bias[chosen] * scales, neurons, fill, order)
        )
    return Background(front, tuple(woods))


def _cancelling(draw: Generator, below: Wood, rows: int) -> Matrix:
    """Weights on the background units below that only touch pairs, and cancel on each."""
    pairs = (len(below.weight) - below.plain) // 2
    weights = np.zeros((rows, len(below.weight)))
    first = slice(below.plain, below.plain + pairs)
    second = slice(below.plain + pairs, None)
    # the second row of a pair is the first one times this power of two
    largest = [np.abs(below.weight[part]).max(axis=1, initial=0) for part in (first, second)]
    exponent = gain_exponent(len(below.order), HIGHEST_WEIGHT)
    drawn = np.ldexp(signed(draw, HIGHEST_WEIGHT, (rows, pairs)).astype(np.float64), exponent)
    weights[:, first] = drawn * (largest[1] / largest[0])
    weights[:, second] = -drawn
    return weights


def _powers(exponents: Integers) -> Matrix:
    return np.ldexp(np.ones(len(exponents)), exponents)
