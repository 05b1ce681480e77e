"""Exact bounds of how much an affine map can stretch a difference of two inputs.

In l_inf it is the largest sum of absolute weights of a unit, padding and strides counted as they
are. In l2 the square is the largest eigenvalue of W^T W, and no eigenvalue exceeds the largest
sum of absolute entries of a row. For a convolution that matrix repeats itself: the input at place
p reaches the input at p + d through all taps u = p (mod strides) with u + d a tap as well,

  R(j, j', d) = sum over filters i and such u of K_i(j, u) K_i(j', u + d).

Padding and the border only take rows and columns out of W, which never raises its norm; nor do
strides, so that the sum without strides is a bound, too.
"""

from __future__ import annotations

from fractions import Fraction

from flint import fmpz_mat

from assay.proof.arithmetic import Unsupported, entries
from assay.proof.chain import Affine, Layer
from assay.proof.convolution import Convolution

_LARGEST_GRAM = 4096


def row_sum(layer: Layer) -> Fraction:
    """The l_inf operator norm."""
    positive, negative = layer.signed_parts
    sums = layer.times(positive - negative, [1] * layer.inputs)
    return Fraction(max(sums), layer.denominator)


def squared_stretch(layer: Layer) -> Fraction:
    """An upper bound of the square of the l2 operator norm."""
    if layer.fan_in > _LARGEST_GRAM:
        raise Unsupported(f"a unit with {layer.fan_in} inputs is more than the l2 bound follows")
    gram = layer.weight.transpose() * layer.weight
    if isinstance(layer, Affine):
        largest = max(sum(abs(int(entry)) for entry in row) for row in gram.tolist())
    else:
        strides = layer.geometry.strides
        largest = min(_autocorrelation(gram, layer, s) for s in {strides, (1, 1)})
    return Fraction(largest, layer.denominator**2)


def _autocorrelation(gram: fmpz_mat, layer: Convolution, strides: tuple[int, int]) -> int:
    """The largest sum over j' and d of |R(j, j', d)|, over channels j and phases of p."""
    taps = layer.geometry.taps
    channels, count = layer.geometry.shape[0], len(taps)
    flat, size = entries(gram), layer.fan_in
    phases: dict[tuple[int, int], dict[tuple[int, int], list[tuple[int, int]]]] = {}
    for a, (u, v) in enumerate(taps):
        reached = phases.setdefault((u % strides[0], v % strides[1]), {})
        for b, (other_u, other_v) in enumerate(taps):
            reached.setdefault((other_u - u, other_v - v), []).append((a, b))
    largest = 0
    for reached in phases.values():
        for j in range(0, size, count):
            total = 0
            for pairs in reached.values():
                starts = [(j + a) * size + b for a, b in pairs]
                for k in range(0, channels * count, count):
                    total += abs(sum([flat[start + k] for start in starts]))
            largest = max(largest, total)
    return largest
