"""What the CNN families share: short convolutions, and how they act in a design's search."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import isqrt

import numpy as np

from assay.proof import reader
from assay.proof.chain import read_chain
from assay.proof.operator_norms import squared_stretch
from assay.question.convolution import ConvLayer
from assay.truth.corner_search import Floats, Sloped, relu, rounded
from assay.truth.dyadic import float32_over, leading_exponent
from assay.truth.randomness import Integers


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
    kernel = float32_over(numerators, exponent)
    offsets = np.array([float(b) for b in bias or [Fraction(0)] * len(kernel)], np.float32)
    top, left = kernel.shape[2] // 2, kernel.shape[3] // 2
    return ConvLayer(kernel, offsets, image, (stride, stride), (top, left, top, left))


def squared_norms(onnx: bytes) -> dict[int, Fraction]:
    """The bounds of squared l2 norms that the checker finds for the hidden layers."""
    hidden = read_chain(reader.read(onnx)).below
    return {index: squared_stretch(layer) for index, layer in enumerate(hidden)}


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


def read_by(layers: Sequence[ConvLayer], row: Floats) -> Sloped:
    """row · relu(last layer) with its gradient, for the search of a corner."""
    return lambda point: _value_and_slope(layers, row, point)


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
