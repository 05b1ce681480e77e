"""Robust because no layer can carry a difference of two inputs far enough.

Let c be the middle of the box and z(x) the last hidden layer. ReLU moves no two numbers apart,
so the layers' operator norms multiply: with radii r,

  |z(x) - z(c)|_inf <= max r * product of row sums
  |z(x) - z(c)|_2 <= |r|_2 * product of l2 norms

An excess a z + b therefore drops below its exact value at c by at most |a|_1 times the first
bound, and at most |a|_2 times the second; the smaller one counts. Nothing needs to contract: the
margin says whether it was enough. The same holds for every unit on the way, for the guard.
"""

from __future__ import annotations

from fractions import Fraction

from assay.proof.arithmetic import Vector, root_above
from assay.proof.chain import relu
from assay.proof.claim import Claim, Proof
from assay.proof.interval import Interval
from assay.proof.operator_norms import row_sum, squared_stretch
from assay.proof.work import keep, longest


def prove(claim: Claim) -> Proof:
    bounds, intervals, stretches = excesses(claim)
    return Proof(min(bounds), intervals, stretches)


def excesses(claim: Claim) -> tuple[list[Fraction], dict[int, Interval], dict[int, Fraction]]:
    """Lower bounds, over the box, of the excess of each disjunct, and what is known by layer.

    That is intervals of all units, and a bound of the square of the l2 norm.
    """
    point, radii = claim.box.middle, claim.box.radii.fractions()
    farthest, squares = max(radii), sum((r * r for r in radii), start=Fraction(0))
    intervals, stretches = {}, {}
    for index, layer in enumerate(claim.chain.below):
        point = layer.at(point)
        stretches[index] = squared_stretch(layer)
        farthest, squares = farthest * row_sum(layer), squares * stretches[index]
        keep(2 * layer.units, longest(point.numerators))
        intervals[index] = _around(point, min(farthest, root_above(squares)))
        point = relu(point)
    bounds = []
    for objective in claim.objectives():
        row, scale = objective.coefficients.numerators, objective.coefficients.denominator
        in_maximum = farthest * Fraction(sum(map(abs, row)), scale)
        in_squares = root_above(squares * Fraction(sum(w * w for w in row), scale * scale))
        bounds.append(objective.at(point) - min(in_maximum, in_squares))
    return bounds, intervals, stretches


def _around(point: Vector, reach: Fraction) -> Interval:
    step = -(-reach.numerator * point.denominator // reach.denominator)
    lower = [n - step for n in point.numerators]
    return Interval.over(point.denominator, lower, [n + step for n in point.numerators])
