"""Filters whose operator norm is known exactly: in l_inf by row sums, in l2 by orthogonality."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isqrt

import numpy as np
from numpy.random import Generator

from assay.truth.dyadic import leading_exponent, power
from assay.truth.randomness import Integers

SIDE = 3
_WEIGHT_BITS = 7
_FACTOR_BITS = 8


@dataclass(frozen=True)
class Filters:
    """Integers [out, in, 3, 3] times 2^exponent; `squared_norm` bounds the norm's square."""

    numerators: Integers
    exponent: int
    squared_norm: Fraction


def by_row_sums(
    draw: Generator, norm: Fraction, signs: tuple[Integers, Integers], stray: float
) -> Filters:
    """Every filter's absolute sum is `norm`, rounded down to its grid.

    Most signs are those of the output channel times those of the input channel, so that a
    perturbation that follows the signs is hardly weakened; a `stray` share of them are others.
    """
    outputs, inputs = (len(side) for side in signs)
    taps = inputs * SIDE * SIDE
    exponent = -((taps - 1).bit_length() + _WEIGHT_BITS)
    total = int(norm / power(exponent))
    drawn = draw.integers(1, 15, size=(outputs, taps), endpoint=True)
    sizes = drawn * total // drawn.sum(axis=1, keepdims=True)
    # what rounding down left over goes to one weight of the filter
    sizes[np.arange(outputs), drawn.argmax(axis=1)] += total - sizes.sum(axis=1)
    coherent = np.repeat(np.outer(*signs), SIDE * SIDE, axis=1)
    kept = draw.integers(0, 1 << 16, size=sizes.shape) >= round(stray * (1 << 16))
    numerators = (sizes * np.where(kept, coherent, -coherent)).reshape(outputs, inputs, SIDE, SIDE)
    return Filters(numerators, exponent, (total * power(exponent)) ** 2)


def by_orthogonality(draw: Generator, norm: Fraction, outputs: int, inputs: int) -> Filters:
    """Three Hadamard matrices with shifts of the channels in between, as one convolution.

    A Hadamard matrix H of order n has H^T H = n I, and a shift of each channel (up, down, left,
    right or none) moves numbers without changing any. So H1 (vertical shifts) H2 (horizontal
    shifts) H3 has W^T W = n^3 I, and as a 3 x 3 convolution all its taps mix all channels. Fewer
    inputs are fewer columns. The factor that brings sqrt(n^3) to `norm` is rounded down.
    """
    rows, middle, columns = (hadamard(draw, outputs) for _ in range(3))
    vertical, horizontal = draw.integers(0, SIDE, size=(2, outputs))
    numerators = np.zeros((outputs, inputs, SIDE, SIDE), np.int64)
    for u in range(SIDE):
        for v in range(SIDE):
            mixed = (rows * (vertical == u)) @ middle @ (columns * (horizontal == v)[:, None])
            numerators[:, :, u, v] = mixed[:, :inputs]
    cube = outputs**3
    factor, exponent = short_root(norm * norm / cube)
    return Filters(factor * numerators, exponent, cube * (factor * power(exponent)) ** 2)


def short_root(square: Fraction) -> tuple[int, int]:
    """The largest number of 8 bits times a power of two whose square is not above `square`."""
    root = Fraction(isqrt((square.numerator << 64) // square.denominator), 1 << 32)
    exponent = leading_exponent(root) - _FACTOR_BITS + 1
    return int(root / power(exponent)), exponent


def hadamard(draw: Generator, order: int) -> Integers:
    """Sylvester's matrix of a power of two, with rows and columns exchanged and negated."""
    matrix = np.ones((1, 1), np.int64)
    while len(matrix) < order:
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    matrix = matrix[draw.permutation(order)][:, draw.permutation(order)]
    signs = 2 * draw.integers(0, 2, size=(2, order)) - 1
    return np.asarray(matrix * signs[0][:, None] * signs[1])
