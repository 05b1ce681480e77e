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
from functools import lru_cache

from flint import fmpz_mat

from assay.proof.arithmetic import Unsupported
from assay.proof.chain import Affine, Layer
from assay.proof.convolution import Convolution
from assay.proof.work import charge, charge_product, limbs

_LARGEST_GRAM = 4096


@lru_cache(maxsize=4)
def row_sum(layer: Layer) -> Fraction:
    """The l_inf operator norm; the last layers are remembered, for nodes often share one."""
    positive, negative = layer.signed_parts
    sums = layer.times(positive - negative, [1] * layer.inputs)
    return Fraction(max(sums), layer.denominator)


@lru_cache(maxsize=4)
def squared_stretch(layer: Layer) -> Fraction:
    """An upper bound of the square of the l2 operator norm."""
    if layer.fan_in > _LARGEST_GRAM:
        raise Unsupported(f"a unit with {layer.fan_in} inputs is more than the l2 bound follows")
    if isinstance(layer, Affine):
        charge_product(layer.fan_in, layer.units, layer.fan_in, layer.length, layer.length)
        gram = layer.weight.transpose() * layer.weight
        largest = max(sum(abs(int(entry)) for entry in row) for row in gram.tolist())
    else:
        strides = layer.geometry.strides
        largest = min(_autocorrelation(layer, s) for s in {strides, (1, 1)})
    return Fraction(largest, layer.denominator**2)


def _autocorrelation(layer: Convolution, strides: tuple[int, int]) -> int:
    """The largest sum over j' and d of |R(j, j', d)|, over channels j and phases of p."""
    taps, channels = layer.geometry.taps, layer.geometry.shape[0]
    rows = layer.weight.tolist()
    charge(len(taps) ** 2 * (500 + channels**2 * (20 + len(rows) * limbs(layer.length) ** 2)))
    # one matrix (filters by channels) for each tap
    matrices = [
        fmpz_mat(len(rows), channels, [w for row in rows for w in row[a :: len(taps)]])
        for a in range(len(taps))
    ]
    phases: dict[tuple[int, int], dict[tuple[int, int], fmpz_mat]] = {}
    for (u, v), first in zip(taps, matrices, strict=True):
        reached = phases.setdefault((u % strides[0], v % strides[1]), {})
        for (other_u, other_v), second in zip(taps, matrices, strict=True):
            step = other_u - u, other_v - v
            product = first.transpose() * second
            reached[step] = reached[step] + product if step in reached else product
    largest = 0
    for reached in phases.values():
        sums = [0] * channels
        for matrix in reached.values():
            for j, row in enumerate(matrix.tolist()):
                sums[j] += sum(abs(int(entry)) for entry in row)
        largest = max(largest, *sums)
    return largest
