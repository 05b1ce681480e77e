"""The background: ordinary layers around a plant, of which label and target read the same.

Every hidden layer holds the plant's units, background units and, for dilution, pairs of background
units that are positive multiples of each other. Background units read everything. The plant's units
read the plant and, with weights that cancel exactly, the pairs; so do label and target. Units are
permuted, and scaled by powers of two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.random import Generator

from assay.errors import CannotCertify
from assay.question.convolution import ConvLayer
from assay.question.floaterror import AnyLayer, Layer
from assay.truth.assemble import mlp_outputs
from assay.truth.cnn_design import convolution, gain_exponent
from assay.truth.dyadic import nearest
from assay.truth.planting.plant import Layers, Matrix
from assay.truth.randomness import Integers, signed

_HIGHEST_WEIGHT = 15
_BIAS_BITS = 10
_CHANNELS = 3
_CONVOLUTIONS = 2


@dataclass(frozen=True)
class Front:
    """What comes before the plant: x = scale * features[seats] - 1, or the inputs themselves."""

    convolutions: tuple[ConvLayer, ...]
    seats: tuple[int, ...]
    features: int
    scale: float
    shift: float

    def read(self, weight: Matrix, bias: Matrix) -> tuple[Matrix, Matrix]:
        """A layer over the inputs as one over the features."""
        spread = np.zeros((len(weight), self.features))
        spread[:, list(self.seats)] = weight * self.scale
        return spread, bias - self.shift * weight.sum(axis=1)


@dataclass(frozen=True)
class Wood:
    """One hidden layer's background units, and how the plant's units read the pairs below."""

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

    def hidden(self, plant: Layers) -> tuple[AnyLayer, ...]:
        """All layers up to the last hidden one, the plant among them."""
        layers: list[AnyLayer] = list(self.front.convolutions)
        order: Sequence[int] = range(self.front.features)
        for number, (wood, (weight, bias)) in enumerate(zip(self.woods, plant, strict=True)):
            if number == 0:
                weight, bias = self.front.read(weight, bias)
            rows = np.concatenate([np.concatenate([weight, wood.fill], axis=1), wood.weight])
            offsets = np.concatenate([bias, wood.bias])
            own = list(wood.order)
            layers.append(float32_layer(rows[own][:, list(order)], offsets[own]))
            order = own
        return tuple(layers)

    @cached_property
    def bump_seat(self) -> int:
        """The plant's last unit among those of the last hidden layer."""
        return self.woods[-1].order.index(0)

    def readout(
        self, draw: Generator, classes: int, label: int, target: int, bump: Sequence[float]
    ) -> Matrix:
        """Weights of the outputs; label and target differ at the bump, and by what cancels."""
        wood = self.woods[-1]
        fan_in = len(wood.order)
        weights = short_weights(draw, (classes, fan_in))
        weights[target] = weights[label]
        weights[:, 0] = bump
        weights[target, 1 + wood.plain :] += _cancelling(draw, wood, 1)[0, wood.plain :]
        return weights[:, list(wood.order)]


def grown(
    draw: Generator,
    front: Front,
    plant: Layers,
    middle: Sequence[Fraction],
    neurons: int,
    dilution: int,
) -> Background:
    woods: list[Wood] = []
    for number, (weight, _) in enumerate(plant):
        below = woods[-1] if woods else None
        fan_in = front.features if below is None else len(below.order)
        fill = (
            np.zeros((len(weight), 0)) if below is None else _cancelling(draw, below, len(weight))
        )
        rows = short_weights(draw, (neurons + dilution, fan_in))
        bare = Wood(rows, np.zeros(len(rows)), neurons, fill, tuple(range(len(weight) + len(rows))))
        straight = Background(front, (*woods, bare)).hidden(plant[: number + 1])
        seen = mlp_outputs(straight, middle)[len(weight) :]
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


def plain_front(inputs: int) -> Front:
    return Front((), tuple(range(inputs)), inputs, 1.0, 0.0)


def convolutional_front(draw: Generator, inputs: int) -> Front:
    """Convolutions with a channel that hands the image on: x + 1, which is never negative."""
    height = max(h for h in range(1, inputs + 1) if inputs % h == 0 and h * h <= inputs)
    image, scale = (1, height, inputs // height), 1.0
    layers: list[ConvLayer] = []
    seat = 0
    for number in range(_CONVOLUTIONS):
        exponent = gain_exponent(image[0] * 9, _HIGHEST_WEIGHT)
        filters = signed(draw, _HIGHEST_WEIGHT, (_CHANNELS + 1, image[0], 3, 3))
        step = int(draw.integers(0, 2))
        before, seat = seat, int(draw.integers(_CHANNELS + 1))
        filters[seat] = 0
        filters[seat, before, 1, 1] = 1 << (step - exponent)
        bias = [Fraction(int(b), 16) for b in draw.integers(-8, 9, _CHANNELS + 1)]
        bias[seat] = Fraction(1 << step if number == 0 else 0)
        layers.append(convolution(filters, exponent, image, bias=bias))
        image, scale = layers[-1].output, scale / (1 << step)
    seats = tuple(range(seat * inputs, (seat + 1) * inputs))
    return Front(tuple(layers), seats, image[0] * inputs, scale, 1.0)


def short_weights(draw: Generator, shape: tuple[int, int]) -> Matrix:
    """Random weights (units, inputs) that keep the size of signals."""
    numerators = signed(draw, _HIGHEST_WEIGHT, shape).astype(np.float64)
    return _times(numerators, gain_exponent(shape[1], _HIGHEST_WEIGHT))


def float32_layer(weight: Matrix, bias: Matrix) -> Layer:
    """The layer in float32, where every number must be one already."""
    short = weight.astype(np.float32), bias.astype(np.float32)
    if not (np.array_equal(short[0], weight) and np.array_equal(short[1], bias)):
        raise CannotCertify(
            "planted: a weight of the plant does not fit float32 exactly; change epsilon or width"
        )
    return short


def _cancelling(draw: Generator, below: Wood, rows: int) -> Matrix:
    """Weights on the background units below that only touch pairs, and cancel on each."""
    pairs = (len(below.weight) - below.plain) // 2
    weights = np.zeros((rows, len(below.weight)))
    first = slice(below.plain, below.plain + pairs)
    second = slice(below.plain + pairs, None)
    # the second row of a pair is the first one times this power of two
    largest = [np.abs(below.weight[part]).max(axis=1, initial=0) for part in (first, second)]
    exponent = gain_exponent(len(below.order), _HIGHEST_WEIGHT)
    drawn = _times(signed(draw, _HIGHEST_WEIGHT, (rows, pairs)).astype(np.float64), exponent)
    weights[:, first] = drawn * (largest[1] / largest[0])
    weights[:, second] = -drawn
    return weights


def _times(numbers: Matrix, exponent: int) -> Matrix:
    return np.ldexp(numbers, exponent)


def _powers(exponents: Integers) -> Matrix:
    return np.ldexp(np.ones(len(exponents)), exponents)
