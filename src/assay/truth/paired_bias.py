"""Paired biases: channels with one shared filter and two biases, behind any convolutions.

Theorem. Channels 2i and 2i + 1 of the last convolution compute relu(s + b_i) and relu(s + c_i) of
the same response s, with b_i > c_i. ReLU is monotone, so d_i = relu(s + b_i) - relu(s + c_i) >= 0
for every s, whatever the layers before make of the input. Class k reads
f_k = g_k + sum_i v_ki * (sum of d_i over the image). With v_yi >= v_ki for every pair and
g_y - g_k >= gamma the margin is at least gamma, for every input of the world.

The biases straddle the response at the centre of the box (or the centre of its interval), so both
channels are unstable, and bounds that treat them apart lose the sign of d_i. Swapping b_i and c_i
of one pair turns its d_i into -d_i. That pair's weight is chosen so that the swap loses at a known
corner of the box: the twin differs from the robust network by two biases.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from pydantic import Field, model_validator

from assay.errors import BadInput, CannotCertify
from assay.question.convolution import ConvLayer
from assay.question.floaterror import Layer
from assay.question.property import Violation
from assay.question.region import Box
from assay.truth.assemble import Design, mlp_outputs, robust_instance, violated_instance
from assay.truth.cnn_design import (
    convolution,
    forward,
    gain_exponent,
    interval_forward,
    read_by,
    squared_norms,
)
from assay.truth.constructor import Constructor, Knobs
from assay.truth.corner_search import Floats, ends, lowest_corner, relu, rounded
from assay.truth.dyadic import as_written, float32_at_least, float32_at_most, nearest, power, radius
from assay.truth.instance import Instance
from assay.truth.randomness import Integers, centre, generator, signed

FAMILY = "paired_bias"
_HIGHEST_WEIGHT = 15
_SIDE = 3
_MOST_WEIGHTS = 1 << 21
_BIAS_BITS = 12
_MOST_TRIED = 8


class PairedBiasKnobs(Knobs):
    size: int = Field(8, ge=2, le=32, description="height and width of the image and all features")
    colours: int = Field(1, ge=1, le=16, description="channels of the input image")
    classes: int = Field(10, ge=2, le=1_000, description="number of classes")
    pairs: int = Field(8, ge=1, le=256, description="number of paired filters P")
    backbone: int = Field(2, ge=0, le=8, description="convolutions before the pairs")
    width: int = Field(8, ge=1, le=64, description="channels of a backbone convolution")
    epsilon: float = Field(0.05, ge=1e-4, le=0.5, description="l_inf radius of the box")
    gamma: float = Field(0.1, ge=1e-9, le=1e6, description="certified margin, rounded up")
    delta: float = Field(0.025, ge=1e-5, le=100, description="half of the gap between two biases")
    placement: Literal["response", "interval"] = Field(
        "response", description="biases straddle the response at the centre, or its interval's"
    )

    @model_validator(mode="after")
    def _can_be_certified(self) -> PairedBiasKnobs:
        features = 2 * self.pairs * self.size * self.size
        if self.classes * features > _MOST_WEIGHTS:
            raise ValueError(
                f"{self.classes} classes read {features} features, more than {_MOST_WEIGHTS} "
                "weights; lower size, pairs or classes"
            )
        return self


@dataclass(frozen=True)
class Pairs:
    """Shared filters, their ordered biases, and where in the layer the channels lie."""

    numerators: Integers
    exponent: int
    high: tuple[Fraction, ...]
    low: tuple[Fraction, ...]
    seats: Integers

    def swapped(self, pair: int) -> Pairs:
        high, low = list(self.high), list(self.low)
        high[pair], low[pair] = low[pair], high[pair]
        return replace(self, high=tuple(high), low=tuple(low))

    def layer(self, image: tuple[int, int, int]) -> ConvLayer:
        filters = np.empty((2 * len(self.high), *self.numerators.shape[1:]), np.int64)
        biases = np.empty(2 * len(self.high), object)
        for seat, values in zip(self.seats, (self.high, self.low), strict=True):
            filters[seat] = self.numerators
            biases[seat] = values
        return convolution(filters, self.exponent, image, bias=biases.tolist())

    def rows(self, places: int) -> NDArray[np.float32]:
        """One row a pair that reads the sum of its differences over the image."""
        channels = np.zeros((len(self.high), 2 * len(self.high)), np.float32)
        for seat, sign in zip(self.seats, (1, -1), strict=True):
            channels[np.arange(len(self.high)), seat] = sign
        return np.repeat(channels, places, axis=1)


def make(knobs: PairedBiasKnobs, seed: int) -> list[Instance]:
    draw = generator(FAMILY, knobs, seed)
    epsilon = radius(knobs.epsilon)
    places = knobs.size * knobs.size
    middle = centre(draw, knobs.colours * places)
    box = Box.around(middle, epsilon)
    label = int(draw.integers(knobs.classes))
    backbone = _backbone(draw, knobs, np.array([float(v) for v in middle]))
    channels = knobs.width if knobs.backbone else knobs.colours
    image = (channels, knobs.size, knobs.size)
    pairs = _pairs(draw, knobs, backbone, box, image)
    rows = pairs.rows(places)
    straight = (*backbone, pairs.layer(image))
    weak, corner, seen = _open_pair(draw, straight, rows, box, middle)
    weights, exponent = _weights(draw, knobs, label)
    offsets = _offsets(draw, knobs, label)
    unit = power(exponent)
    readout = [[int(v) * unit for v in row] for row in weights]
    readout[label][weak] = _weak_weight(readout, offsets, label, weak, seen)

    def design(chosen: Pairs) -> Design:
        matrix = np.array([[float(v) for v in row] for row in readout]).astype(np.float32)
        by_place = np.zeros((knobs.classes, 2 * knobs.pairs * places), np.float32)
        for pair, row in enumerate(rows):
            by_place += matrix[:, pair : pair + 1] * row
        return Design(
            FAMILY,
            knobs.model_dump(mode="json"),
            seed,
            (*backbone, chosen.layer(image), (by_place, np.array(offsets, np.float32))),
            box,
            Violation.misclassification(label, knobs.classes),
            {"epsilon": str(epsilon)},
        )

    rivals = [Fraction(o) for k, o in enumerate(offsets) if k != label]
    norms = squared_norms(design(pairs).network_bytes())
    kept, lost = (
        replace(design(chosen), stretches=norms) for chosen in (pairs, pairs.swapped(weak))
    )
    return [
        robust_instance(kept, Fraction(offsets[label]) - max(rivals)),
        violated_instance(lost, corner),
    ]


def _backbone(draw: Generator, knobs: PairedBiasKnobs, middle: Floats) -> tuple[ConvLayer, ...]:
    """Dense random convolutions whose kinks run through the features of the centre."""
    layers: list[ConvLayer] = []
    channels, values = knobs.colours, middle
    for _ in range(knobs.backbone):
        image = (channels, knobs.size, knobs.size)
        numerators = signed(draw, _HIGHEST_WEIGHT, (knobs.width, channels, _SIDE, _SIDE))
        exponent = gain_exponent(channels * _SIDE * _SIDE, _HIGHEST_WEIGHT)
        response = forward(convolution(numerators, exponent, image), values)
        shifts = -response.reshape(knobs.width, -1).mean(axis=1)
        bias = [nearest(Fraction(float(s)), -_BIAS_BITS) for s in shifts]
        layers.append(convolution(numerators, exponent, image, bias=bias))
        values, channels = relu(forward(layers[-1], values)), knobs.width
    return tuple(layers)


def _pairs(
    draw: Generator,
    knobs: PairedBiasKnobs,
    backbone: Sequence[ConvLayer],
    box: Box,
    image: tuple[int, int, int],
) -> Pairs:
    """Pairs around their response's mean over the image."""
    numerators = signed(draw, _HIGHEST_WEIGHT, (knobs.pairs, image[0], _SIDE, _SIDE))
    exponent = gain_exponent(image[0] * _SIDE * _SIDE, _HIGHEST_WEIGHT)
    shared = convolution(numerators, exponent, image)
    low, high = ends(box)
    values = (low + high) / 2
    for layer in backbone:
        low, high = map(relu, interval_forward(layer, low, high))
        values = relu(forward(layer, values))
    if knobs.placement == "interval":
        low, high = interval_forward(shared, low, high)
        values = (low + high) / 2
    else:
        values = forward(shared, values)
    centres = rounded(values).reshape(knobs.pairs, -1).mean(axis=1)
    gap = as_written(knobs.delta)
    kinks = [nearest(Fraction(float(c)), -_BIAS_BITS) for c in centres]
    upper = tuple(float32_at_least(gap - kink) for kink in kinks)
    lower = tuple(float32_at_most(-gap - kink) for kink in kinks)
    seats = draw.permutation(2 * knobs.pairs).reshape(2, knobs.pairs)
    return Pairs(numerators, exponent, upper, lower, seats)


def _open_pair(
    draw: Generator,
    layers: Sequence[ConvLayer],
    rows: NDArray[np.float32],
    box: Box,
    middle: Sequence[Fraction],
) -> tuple[int, tuple[Fraction, ...], list[list[Fraction]]]:
    """A pair that is open at a corner, the corner, and all differences there and at the centre."""
    plain: Layer = (rows, np.zeros(len(rows), np.float32))
    for pair in draw.permutation(len(rows))[:_MOST_TRIED]:
        corner = lowest_corner(read_by(layers, -rows[pair].astype(np.float64)), box, draw)
        at_corner = mlp_outputs((*layers, plain), corner)
        if at_corner[pair] > 0:
            return int(pair), corner, [at_corner, mlp_outputs((*layers, plain), middle)]
    raise CannotCertify(
        f"{FAMILY}: every pair is closed on the box; set placement to response, or raise delta"
    )


def _weights(draw: Generator, knobs: PairedBiasKnobs, label: int) -> tuple[Integers, int]:
    """Integers [class, pair] that sum a pair over the image, and their scale: about an average."""
    weights = draw.integers(-7, 7, size=(knobs.classes, knobs.pairs), endpoint=True)
    weights[label] = draw.integers(8, 15, size=knobs.pairs, endpoint=True)
    return weights, -((knobs.pairs * knobs.size * knobs.size - 1).bit_length() + 3)


def _offsets(draw: Generator, knobs: PairedBiasKnobs, label: int) -> list[float]:
    """Biases of the classes: the label's is gamma, the highest rival's is zero."""
    gamma = float32_at_least(as_written(knobs.gamma))
    below = draw.integers(0, 8, size=knobs.classes)
    below[(label + 1) % knobs.classes] = 0
    offsets = [float(float32_at_most(-int(b) * gamma / 8)) for b in below]
    offsets[label] = float(gamma)
    return offsets


def _weak_weight(
    readout: Sequence[Sequence[Fraction]],
    offsets: Sequence[float],
    label: int,
    weak: int,
    seen: Sequence[Sequence[Fraction]],
) -> Fraction:
    """The label's weight on the weak pair: with that pair swapped, it just loses at the corner.

    `seen` is the differences of all pairs at the corner and at the centre. A rival wins where
    (weight - its own weight) * difference exceeds all the rest.
    """
    at_corner, at_centre = seen

    def level(rival: int, differences: Sequence[Fraction]) -> Fraction:
        rest = Fraction(offsets[label]) - Fraction(offsets[rival])
        for pair, difference in enumerate(differences):
            if pair != weak:
                rest += (readout[label][pair] - readout[rival][pair]) * difference
        return rest

    rivals = [k for k in range(len(offsets)) if k != label]
    needed = {k: readout[k][weak] + level(k, at_corner) / at_corner[weak] for k in rivals}
    winner = min(rivals, key=needed.__getitem__)
    extra = Fraction(offsets[label]) / at_corner[weak]
    if at_centre[weak] > 0:
        # The twin keeps the centre right wherever the corner is the weaker point.
        allowed = min(readout[k][weak] + level(k, at_centre) / at_centre[weak] for k in rivals)
        if allowed > needed[winner]:
            extra = min(extra, (allowed - needed[winner]) / 2)
    weight = max(needed[winner] + extra, *(readout[k][weak] for k in rivals))
    try:
        return float32_at_least(weight)
    except OverflowError:
        raise BadInput(f"{FAMILY}: gamma is too large for float32 weights; lower it") from None


CONSTRUCTOR = Constructor(
    name=FAMILY,
    summary="convolutional channels that share a filter and differ by their bias, behind a CNN",
    theorem="relu(s + b) >= relu(s + c) for every response s whenever b > c",
    knobs=PairedBiasKnobs,
    make=make,
)
