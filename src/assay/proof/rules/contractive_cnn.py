"""Robust because no layer can carry a difference of two inputs far enough.

Let c be the middle of the box and z(x) the last hidden layer. ReLU moves no two numbers apart,
so the layers' operator norms multiply: with radii r,

  |z(x) - z(c)|_inf <= max r * product of row sums
  |z(x) - z(c)|_2 <= |r|_2 * product of l2 norms

An excess a z + b therefore drops below its exact value at c by at most |a|_1 times the first
bound, and at most |a|_2 times the second; the smaller one counts. Nothing needs to contract: the
margin says whether it was enough.
"""

from __future__ import annotations

from fractions import Fraction
from math import isqrt, prod

from assay.proof.arithmetic import Vector
from assay.proof.chain import relu
from assay.proof.claim import Claim, Proof
from assay.proof.operator_norms import row_sum, squared_stretch


def prove(claim: Claim) -> Proof:
    return Proof(min(excesses(claim)))


def excesses(claim: Claim) -> list[Fraction]:
    """A lower bound, over the box, of the excess of each disjunct."""
    ends = list(zip(claim.question.lower, claim.question.upper, strict=True))
    half = Fraction(1, 2)
    radii = [half * (high - low) for low, high in ends]
    point = Vector.of([half * (low + high) for low, high in ends])
    for layer in claim.chain.below:
        point = relu(layer.at(point))
    farthest = max(radii) * prod(row_sum(layer) for layer in claim.chain.below)
    squares = sum(r * r for r in radii) * prod(map(squared_stretch, claim.chain.below))
    bounds = []
    for objective in claim.objectives():
        row, scale = objective.coefficients.numerators, objective.coefficients.denominator
        products = sum(w * value for w, value in zip(row, point.numerators, strict=True))
        middle = Fraction(products, scale * point.denominator) + objective.constant
        in_maximum = farthest * Fraction(sum(map(abs, row)), scale)
        in_squares = root_above(squares * Fraction(sum(w * w for w in row), scale * scale))
        bounds.append(middle - min(in_maximum, in_squares))
    return bounds


def root_above(value: Fraction) -> Fraction:
    """A number just above the square root, off by less than 2^-64 of the denominator's inverse."""
    product = value.numerator * value.denominator
    return Fraction(isqrt(product << 128) + 1, value.denominator << 64)
