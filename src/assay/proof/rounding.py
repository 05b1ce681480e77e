"""What float32 loses in one layer, as integers in units of 2^-180, rounded up.

For a layer of fan-in n with unit roundoff u = 2^-24 and g = (n+1)u / (1 - (n+1)u), if the
inputs are off by at most E and bounded by M, then a float32 dot product with bias is off by at
most |W|E + g(|W|(M+E) + |b|) + (n+1) 2^-149, for any order of the sum and with or without fused
multiply-add (not for TF32, fp16, Winograd, or flushed subnormals). No partial sum can overflow
if |W|(M+E) + |b| is below 2^127; a pool adds up its window before it divides, so there the sum of
all M+E must be, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import isqrt

from assay.proof.arithmetic import Rejected
from assay.proof.chain import Affine, Layer
from assay.proof.interval import Interval

UNIT = 180
_MOST_TERMS = 1 << 20


def l2_norm(values: Iterable[int]) -> int:
    """The l2 norm, rounded up."""
    return isqrt(sum(v * v for v in values)) + 1


def units_above(numerator: int, denominator: int) -> int:
    """A rational in units, rounded up."""
    return -((-numerator << UNIT) // denominator)


def magnitudes(bounds: Interval) -> list[int]:
    """The largest absolute values."""
    ends = zip(bounds.lower.numerators, bounds.upper.numerators, strict=True)
    return [units_above(max(abs(a), abs(b)), bounds.denominator) for a, b in ends]


def layer_error(
    layer: Layer, size: list[int], error: list[int], added: Sequence[int] = ()
) -> tuple[list[int], list[int]]:
    """What the errors of the inputs can add up to, and what rounding adds here.

    `added` bounds a tensor that is added to the result, in the same sum or after it: g grows by
    one term, and by u + gu at least, so that it covers both.
    """
    # a bias after a pool is added to sums that were rounded twice more, by the inverse of a number
    pooled = isinstance(layer, Affine) and layer.pooled
    terms = layer.fan_in + (2 if added else 1) + (pooled and any(layer.bias))
    positive, negative = layer.signed_parts
    absolute = positive - negative
    carried = layer.times(absolute, error)
    products = layer.times(absolute, [s + e for s, e in zip(size, error, strict=True)])
    summed = [p + (abs(b) << UNIT) for p, b in zip(products, layer.bias, strict=True)]
    if added:
        summed = [s + a * layer.denominator for s, a in zip(summed, added, strict=True)]
    window = sum(size) + sum(error) if pooled else 0
    overflows = max(summed) >= layer.denominator << (127 + UNIT) or window >= 1 << (127 + UNIT)
    if terms > _MOST_TERMS or overflows:
        raise Rejected("the guard float32 does not hold: a layer is too wide, or may overflow")
    down = (1 << 24) - terms
    return (
        [-(-c // layer.denominator) for c in carried],
        [-(-s * terms // (layer.denominator * down)) + (terms << (UNIT - 149)) for s in summed],
    )
