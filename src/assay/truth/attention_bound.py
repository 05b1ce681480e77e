"""The margin that the paper's bound asks for (its Eq. 51, 54 and Proposition 7), for comparison.

A single head and a linear read-out. Every norm is enclosed from above in balls: with G = W^T W and
m a power of two, ||W||_2^2 <= ||G^m||_F^(1/m), which is off by at most a factor d^(1/(2m)).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import reduce

import numpy as np
from flint import arb, arb_mat, ctx, fmpq

from assay.proof.balls import BITS, Ball, ceiling
from assay.truth.dyadic import short_above

_SQUARINGS = 6


def papers_margin(
    centre: Sequence[Fraction],
    tokens: tuple[int, int],
    epsilon: Fraction,
    query: np.ndarray,
    key: np.ndarray,
    value: np.ndarray,
    readout: np.ndarray,
) -> Fraction:
    """2 L_h sqrt(n) L_attn eps, rounded up: the nominal margin that Proposition 7 needs."""
    with ctx.workprec(BITS):
        count, width = tokens
        eps = arb(fmpq(epsilon.numerator, epsilon.denominator))
        x = arb_mat(count, width, [arb(fmpq(v.numerator, v.denominator)) for v in centre])
        scores = spectral_norm(_matrix(query) * _matrix(key).transpose())
        root, stretch = arb(width).sqrt(), arb(width).sqrt() * spectral_norm(_matrix(value))
        longest = _largest_row(x)
        change = root * scores * 2 * longest + eps * width * scores
        half = change * count / 2
        lipschitz = half * _largest_row(x * _matrix(value)) + stretch + half * eps * stretch
        steepest = _largest_row(_matrix(readout))
        return short_above(ceiling(2 * steepest * arb(count).sqrt() * lipschitz * eps), longest=0)


def spectral_norm(matrix: arb_mat) -> Ball:
    """A ball whose upper end is at least the largest singular value."""
    power = matrix.transpose() * matrix
    for _ in range(_SQUARINGS):
        power = power * power
    squares = sum((v * v for v in power.entries()), start=arb(0))
    # squares = ||G^m||_F^2 with m = 2^_SQUARINGS; its 4m-th root bounds ||W||_2
    return squares.root(4 << _SQUARINGS)


def _matrix(array: np.ndarray) -> arb_mat:
    return arb_mat(*array.shape, [arb(float(v)) for v in array.ravel()])


def _largest_row(matrix: arb_mat) -> Ball:
    """The largest Euclidean length of a row, rounded up."""
    rows = [sum((v * v for v in row), start=arb(0)).sqrt() for row in matrix.tolist()]
    return reduce(lambda longest, row: longest.max(row), rows)
