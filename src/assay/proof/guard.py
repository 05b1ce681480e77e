"""How far a float32 evaluation can stray from the real one, whatever the summation order.

For a layer of fan-in n with unit roundoff u = 2^-24 and g = (n+1)u / (1 - (n+1)u), if the
inputs are off by at most E and bounded by M, then a float32 dot product with bias is off by at
most |W|E + g(|W|(M+E) + |b|) + (n+1) 2^-149, for any order of the sum and with or without fused
multiply-add (not for TF32, fp16, Winograd, or flushed subnormals). ReLU makes no error, and a
unit that cannot rise above zero by more than its error is exactly zero in float32, too.
All numbers are integers in units of 2^-180, rounded up.
"""

from __future__ import annotations

from fractions import Fraction

from flint import fmpz_mat

from assay.proof.arithmetic import Unsupported, column, entries, is_float32
from assay.proof.chain import Affine, Chain
from assay.proof.claim import Proof
from assay.proof.interval import Interval, preactivations
from assay.proof.vnnlib import Question

_UNIT = 180


def survives_float32(chain: Chain, question: Question, box: Interval, proof: Proof) -> bool:
    """Whether float32 gives the answer of a real margin of this size everywhere on `box`."""
    corners = box.lower.fractions() + box.upper.fractions()
    if not all(layer.single for layer in chain.layers) or not all(map(is_float32, corners)):
        return False
    errors = output_errors(chain, box, proof.bounds)
    slack = max(
        sum((abs(c) * errors[i] for i, c in inequality.coefficients), start=Fraction(0))
        for disjunct in question.disjuncts
        for inequality in disjunct
    )
    exact_compare = all(
        inequality.bound == 0 and all(abs(c) == 1 for _, c in inequality.coefficients)
        for disjunct in question.disjuncts
        for inequality in disjunct
    )
    return exact_compare and abs(proof.margin) > slack


def output_errors(chain: Chain, box: Interval, known: dict[int, Interval]) -> list[Fraction]:
    """A bound of each output's float32 error over a box of float32 inputs."""
    bounds = preactivations(chain, box, known)
    ends = zip(box.lower.numerators, box.upper.numerators, strict=True)
    size = [_ceil(max(abs(a), abs(b)), box.denominator) for a, b in ends]
    error = [0] * len(size)
    for layer, interval in zip(chain.layers, bounds, strict=True):
        error = _layer_error(layer, size, error)
        tops = [_ceil(n, interval.denominator) for n in interval.upper.numerators]
        if layer is not chain.layers[-1]:
            dead = [top + e <= 0 for top, e in zip(tops, error, strict=True)]
            error = [0 if d else e for d, e in zip(dead, error, strict=True)]
            size = [0 if d else max(top, 0) for d, top in zip(dead, tops, strict=True)]
    return [Fraction(e, 1 << _UNIT) for e in error]


def _ceil(numerator: int, denominator: int) -> int:
    return -((-numerator << _UNIT) // denominator)


def _layer_error(layer: Affine, size: list[int], error: list[int]) -> list[int]:
    terms = layer.fan_in + 1
    if terms >= 1 << 20:
        raise Unsupported("a layer has too many inputs for the float32 error bound")
    positive, negative = layer.signed_parts
    absolute: fmpz_mat = positive - negative
    carried = entries(absolute * column(error))
    summed = entries(absolute * column(s + e for s, e in zip(size, error, strict=True)))
    scaled_bias = [abs(b) << _UNIT for b in layer.bias]
    down = (1 << 24) - terms
    return [
        -(-(c * down + (s + b) * terms) // (layer.denominator * down)) + (terms << (_UNIT - 149))
        for c, s, b in zip(carried, summed, scaled_bias, strict=True)
    ]
