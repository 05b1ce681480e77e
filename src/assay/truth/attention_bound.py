"""What the paper says of a single head: its bound of the drift, and the order of the scores.

The margin that its Eq. 51, 54 and Proposition 7 ask for is stated for comparison. Every norm is
enclosed from above in balls: with G = W^T W and m a power of two, ||W||_2^2 <= ||G^m||_F^(1/m),
which is off by at most a factor d^(1/(2m)).

The order of the scores (Proposition 6) is not needed by any proof here. With M = W_Q W_K^T the gap
x_i M (x_p - x_j) of the top key p moves on the box by at most
eps |M (x_p - x_j)|_1 + 2 eps |x_i M|_1 + 2 eps^2 sum |M|.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import reduce

import numpy as np
from flint import arb, arb_mat, ctx, fmpq

from assay.proof.balls import BITS, Ball, ceiling, floor
from assay.truth.dyadic import short_above, short_below

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


def score_gap(
    centre: Sequence[Fraction],
    tokens: tuple[int, int],
    epsilon: Fraction,
    query: np.ndarray,
    key: np.ndarray,
) -> Fraction:
    """A lower bound, over rows and box, of the top score's lead; positive: the order is fixed."""
    with ctx.workprec(BITS):
        count, width = tokens
        eps = arb(fmpq(epsilon.numerator, epsilon.denominator))
        x = arb_mat(count, width, [arb(fmpq(v.numerator, v.denominator)) for v in centre])
        matrix = _matrix(query) * _matrix(key).transpose()
        asked, keys = x * matrix, (x * matrix.transpose()).tolist()
        scores = (asked * x.transpose()).tolist()
        fixed = 2 * eps * eps * sum(map(abs, matrix.entries()), start=arb(0))
        gaps = []
        for row, own in zip(scores, asked.tolist(), strict=True):
            middles = [float(score.mid()) for score in row]
            top = middles.index(max(middles))
            lean = fixed + 2 * eps * sum(map(abs, own), start=arb(0))
            for j in range(count):
                if j != top:
                    apart = (abs(a - b) for a, b in zip(keys[top], keys[j], strict=True))
                    gaps.append(floor(row[top] - row[j] - lean - eps * sum(apart, start=arb(0))))
        return short_below(min(gaps), longest=0)


def spectral_norm(matrix: arb_mat) -> Ball:
    """A ball whose upper end is at least the largest singular value."""
    power = matrix.transpose() * matrix
    for _ in range(_SQUARINGS):
        power = power * power
    squares = sum((v * v for v in power.entries()), start=arb(0))
    if squares == 0:
        return squares  # Arb has no root of it
    # squares = ||G^m||_F^2 with m = 2^_SQUARINGS; its 4m-th root bounds ||W||_2
    return squares.root(4 << _SQUARINGS)


def _matrix(array: np.ndarray) -> arb_mat:
    return arb_mat(*array.shape, [arb(float(v)) for v in array.ravel()])


def _largest_row(matrix: arb_mat) -> Ball:
    """The largest Euclidean length of a row, rounded up."""
    rows = [sum((v * v for v in row), start=arb(0)).sqrt() for row in matrix.tolist()]
    return reduce(lambda longest, row: longest.max(row), rows)
