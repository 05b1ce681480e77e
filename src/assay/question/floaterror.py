"""How far a float32 evaluation of affine layers and ReLUs can be from its real-valued outputs.

For a layer of fan-in n (in a convolution, the taps of a filter), u = 2^-24 and
g_k = ku / (1 - ku), an evaluation in any summation order, with or without fused multiply-add, of
inputs that are off by at most E and bounded by M is off by at most

    |W| E + g_{n+1} (|W| (M + E) + |b|) + (n + 1) 2^-149.

The inputs are float32 numbers (E = 0); ReLU keeps E; a unit whose real pre-activation is at most
-E everywhere is exactly zero in float32, too. Where l2 operator norms are known, the l2 norm of the
error is at most a layer's norm times the one before, plus that of the terms after |W| E, and an
output gets no more of it than its own weights' l2 norm times that. It does not hold for TF32,
fp16, Winograd or flushed subnormals, nor where a partial sum could overflow, which is refused. M
comes from interval bounds over the box.

Everything is computed in float64 and rounded up: a product of a nonnegative n-column matrix with
a nonnegative vector is inflated by 1 + (n + 8) 2^-52, at least twice what its rounding can lose.
The absolute term counts n + 2 instead of n + 1: the surplus covers float64 underflow, and a
checker that rounds the exact formula up to multiples of 2^-160 never gets more than stated here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from assay.question.convolution import ConvLayer
from assay.question.directed import float_above, float_below
from assay.question.property import Violation
from assay.question.region import Box

Layer = tuple[NDArray[np.float32], NDArray[np.float32]]
"""The weight (units, inputs) and the bias (units,) of an affine layer."""

AnyLayer = Layer | ConvLayer
"""A matrix or a convolution."""

_Vector = NDArray[np.float64]
_U = 2.0**-24
_TINY = 2.0**-149
_HUGE = 2.0**127
"""Half of what overflows float32, so that the rounding of partial sums cannot reach it."""
_ULP = 2.0**-52
_SLACK = 2.0**-20
"""What an l2 norm is enlarged by: far more than any sum of squares here can lose."""


def output_error(
    layers: Sequence[AnyLayer],
    box: Box,
    tops: Mapping[int, Sequence[Fraction]] | None = None,
    stretches: Mapping[int, Fraction] | None = None,
) -> list[Fraction]:
    """A bound of each output's float32 error on the float32 points of `box`.

    OverflowError tells that there is none, because float32 (or this float64) may overflow.
    `tops` gives upper bounds of a hidden layer's pre-activations that are proved to hold on the
    box, where they are better than interval bounds; `stretches` gives proved upper bounds of the
    squares of layers' l2 operator norms.
    """
    low = np.array([float_below(v) for v in box.lower])
    high = np.array([float_above(v) for v in box.upper])
    size = np.maximum(np.abs(low), np.abs(high))
    error, length = np.zeros_like(size), 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        for position, layer in enumerate(layers):
            carried, own = _layer_error(layer, size, error)
            if stretches and position == len(layers) - 1:
                norms = np.array([_norm(np.abs(row)) for row in _matrix_and_bias(layer)[0]])
                carried = np.minimum(carried, norms * length * (1 + _SLACK))
            error = (carried + own) * (1 + 4 * _ULP)
            summed = _norm(error)
            if stretches is not None and position in stretches:
                norm = float_above(stretches[position]) ** 0.5
                length = (norm * length + _norm(own)) * (1 + _SLACK)
                error = np.minimum(error, length)
                summed = min(summed, length)
            length = summed
            if not np.isfinite(error).all():
                raise OverflowError("a layer may overflow float32")
            low, high = _affine_range(layer, low, high)
            if position == len(layers) - 1:
                break
            if tops is not None and position in tops:
                proved = np.array([float_above(top) for top in tops[position]])
                high = np.minimum(high, proved)
                low = np.minimum(low, high)
            error = np.where(np.nextafter(high + error, np.inf) <= 0, 0.0, error)
            low, high = np.maximum(low, 0), np.maximum(high, 0)
            size = high
    return [Fraction(float(e)) for e in error]


def survives_float32(
    layers: Sequence[AnyLayer],
    box: Box,
    violation: Violation,
    margin: Fraction,
    tops: Mapping[int, Sequence[Fraction]] | None = None,
    stretches: Mapping[int, Fraction] | None = None,
) -> bool:
    """Whether float32 gives the same answer on all of `box` as a real margin of this size."""
    try:
        error = output_error(layers, box, tops, stretches)
    except OverflowError:
        return False
    slack = max(
        sum((abs(c) * error[i] for i, c in inequality.terms), start=Fraction(0))
        for disjunct in violation.disjuncts
        for inequality in disjunct
    )
    return abs(margin) > slack


def _matrix_and_bias(layer: AnyLayer) -> tuple[_Vector, _Vector]:
    """Weights, one row a unit or a filter, and the bias of every unit."""
    pair = (layer.filters, layer.unit_bias) if isinstance(layer, ConvLayer) else layer
    return pair[0].astype(np.float64), pair[1].astype(np.float64)


def _times(layer: AnyLayer, matrix: _Vector, vector: _Vector) -> _Vector:
    product = layer.times(matrix, vector) if isinstance(layer, ConvLayer) else matrix @ vector
    return np.asarray(product)


def _norm(values: _Vector) -> float:
    """An upper bound of the l2 norm."""
    largest = float(values.max(initial=0.0))
    if largest == 0 or not np.isfinite(largest):
        return largest
    return largest * float(np.sqrt(np.sum((values / largest) ** 2))) * (1 + _SLACK)


def _layer_error(layer: AnyLayer, size: _Vector, error: _Vector) -> tuple[_Vector, _Vector]:
    """What the errors of the inputs can add up to, and what rounding adds here."""
    matrix, bias = map(np.abs, _matrix_and_bias(layer))
    terms = matrix.shape[1] + 1
    up = 1 + (terms + 7) * _ULP
    g = terms * _U / (1 - terms * _U) * (1 + 4 * _ULP)
    carried = _times(layer, matrix, error) * up
    summed = (_times(layer, matrix, (size + error) * (1 + _ULP)) * up + bias) * (1 + _ULP)
    own: _Vector = (g * summed + (terms + 1) * _TINY) * (1 + 4 * _ULP)
    return carried, np.where(summed < _HUGE, own, np.inf)


def _affine_range(layer: AnyLayer, low: _Vector, high: _Vector) -> tuple[_Vector, _Vector]:
    """Bounds of the layer's result, widened by more than float64 can lose in the two products."""
    matrix, bias = _matrix_and_bias(layer)
    positive, negative = np.maximum(matrix, 0), np.minimum(matrix, 0)
    largest = np.maximum(np.abs(low), np.abs(high))
    magnitude = _times(layer, np.abs(matrix), largest) + np.abs(bias)
    loss = (2 * matrix.shape[1] + 16) * _ULP * magnitude
    return (
        _times(layer, positive, low) + _times(layer, negative, high) + bias - loss,
        _times(layer, positive, high) + _times(layer, negative, low) + bias + loss,
    )
