"""Short dyadic weights: random ones, orthogonal ones, and as float32 layers."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from assay.errors import CannotCertify
from assay.question.floaterror import Layer
from assay.truth.cnn_design import gain_exponent
from assay.truth.randomness import Integers, signed

Matrix = NDArray[np.float64]
HIGHEST_WEIGHT = 15


def short_weights(draw: Generator, shape: tuple[int, int]) -> Matrix:
    """Random weights (units, inputs) that keep the size of signals."""
    numerators = signed(draw, HIGHEST_WEIGHT, shape).astype(np.float64)
    scaled: Matrix = np.ldexp(numerators, gain_exponent(shape[1], HIGHEST_WEIGHT))
    return scaled


def float32_layer(weight: Matrix, bias: Matrix) -> Layer:
    """The layer in float32, where every number must be one already."""
    short = weight.astype(np.float32), bias.astype(np.float32)
    if not (np.array_equal(short[0], weight) and np.array_equal(short[1], bias)):
        raise CannotCertify(
            "planted: a weight of the plant does not fit float32 exactly; lower inputs, or change "
            "stem, epsilon or width"
        )
    return short


def hadamard_blocks(count: int) -> Integers:
    """Block diagonal: one Hadamard matrix for every binary digit of `count`."""
    matrix = np.zeros((count, count), np.int64)
    start = 0
    for digit in reversed(range(count.bit_length())):
        if count >> digit & 1:
            block = np.ones((1, 1), np.int64)
            for _ in range(digit):
                block = np.block([[block, block], [block, -block]])
            end = start + len(block)
            matrix[start:end, start:end] = block
            start = end
    return matrix
