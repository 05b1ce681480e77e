"""What the CNN families share: short convolutions, and a search that any machine repeats.

A design looks at values of the network before it is certified: where biases go, which corner is
bad. Those values are rounded to 30 bits after every layer and filters are short integers times a
power of two (their absolute sum below 2^22), so that float64 sums of products are exact, hence
the same in any order and on any machine. They decide nothing but the design; what is claimed is
evaluated exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import isqrt

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from assay.proof import reader
from assay.proof.chain import read_chain
from assay.proof.operator_norms import squared_stretch
from assay.question.convolution import ConvLayer
from assay.question.region import Box
from assay.truth.dyadic import leading_exponent, power
from assay.truth.randomness import Integers

Floats = NDArray[np.float64]
_BITS = 30
_TURNS = 6
_STARTS = 6


def exponent_for(root_mean_square: Fraction, largest: int) -> int:
    """The scale at which integers up to `largest`, evenly drawn, have about this mean square."""
    return leading_exponent(root_mean_square * Fraction(7, 4) / largest)


def gain_exponent(fan_in: int, largest: int) -> int:
    """The scale that keeps the size of signals through a ReLU layer, as He initialisation does."""
    inverse = Fraction(1 << 20, isqrt((fan_in << 40) // 2))
    return exponent_for(inverse, largest)


def convolution(
    numerators: Integers,
    exponent: int,
    image: tuple[int, int, int],
    *,
    bias: Sequence[Fraction] | None = None,
    stride: int = 1,
) -> ConvLayer:
    """Filters of odd size with enough padding to keep the image, before strides."""
    kernel = (numerators * float(power(exponent))).astype(np.float32)
    offsets = np.array([float(b) for b in bias or [Fraction(0)] * len(kernel)], np.float32)
    top, left = kernel.shape[2] // 2, kernel.shape[3] // 2
    return ConvLayer(kernel, offsets, image, (stride, stride), (top, left, top, left))


def squared_norms(onnx: bytes) -> dict[int, Fraction]:
    """The bounds of squared l2 norms that the checker finds for the hidden layers."""
    hidden = read_chain(reader.read(onnx)).below
    return {index: squared_stretch(layer) for index, layer in enumerate(hidden)}


def rounded(values: Floats) -> Floats:
    """Multiples of one power of two, the largest of them having 30 bits."""
    largest = float(np.abs(values).max(initial=0.0))
    grid = 2.0 ** (_BITS - np.frexp(largest)[1])
    return np.asarray(np.rint(values * grid) / grid)


def forward(layer: ConvLayer, values: Floats) -> Floats:
    """Pre-activations, rounded."""
    return rounded(layer.times(layer.filters.astype(np.float64), values) + layer.unit_bias)


def interval_forward(layer: ConvLayer, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Interval bounds of pre-activations, rounded."""
    filters = layer.filters.astype(np.float64)
    positive, negative = np.maximum(filters, 0), np.minimum(filters, 0)
    return (
        rounded(layer.times(positive, low) + layer.times(negative, high) + layer.unit_bias),
        rounded(layer.times(positive, high) + layer.times(negative, low) + layer.unit_bias),
    )


def relu(values: Floats) -> Floats:
    return np.maximum(values, 0)


def ends(box: Box) -> tuple[Floats, Floats]:
    """The bounds of a box whose bounds float64 holds exactly."""
    return np.array([float(v) for v in box.lower]), np.array([float(v) for v in box.upper])


def lowest_corner(
    layers: Sequence[ConvLayer], row: Floats, box: Box, draw: Generator
) -> tuple[Fraction, ...]:
    """A corner of the box where row · relu(last layer) is low: from corner to corner downhill."""
    low, high = ends(box)
    best, chosen = np.inf, low
    for start in range(_STARTS):
        point = np.where(draw.integers(0, 2, len(low)) == 1, high, low)
        point = (low + high) / 2 if start == 0 else point
        for _ in range(_TURNS):
            value, slope = _value_and_slope(layers, row, point)
            if value < best and bool(((point == low) | (point == high)).all()):
                best, chosen = value, point
            following = np.where(slope > 0, low, np.where(slope < 0, high, point))
            if (following == point).all():
                break
            point = following
    sides = zip(chosen == low, box.lower, box.upper, strict=True)
    return tuple(lower if is_low else upper for is_low, lower, upper in sides)


def _value_and_slope(
    layers: Sequence[ConvLayer], row: Floats, point: Floats
) -> tuple[float, Floats]:
    values, passed = point, []
    for layer in layers:
        before = forward(layer, values)
        passed.append(before > 0)
        values = relu(before)
    slope = row
    for layer, open_units in zip(reversed(layers), reversed(passed), strict=True):
        slope = _pulled_back(layer, np.where(open_units, slope, 0.0))
    return float(np.sum(rounded(row * values))), slope


def _pulled_back(layer: ConvLayer, slope: Floats) -> Floats:
    """The transposed convolution."""
    filters = layer.filters.astype(np.float64)
    spread = filters.T @ slope.reshape(len(filters), -1)
    inputs = int(np.prod(layer.image))
    result = np.bincount(layer.windows.ravel(), spread.ravel(), minlength=inputs + 1)
    return rounded(result[:-1].astype(np.float64))
