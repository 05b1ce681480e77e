"""Robust because a polynomial stays positive on the box: affine, entrywise power, affine.

`monotone` first shrinks the box to faces that hold a minimiser, for each disjunct. Without arrays
its own lower bound on what is left is the proof. With arrays, a tree covers what is left by
halving ranges of hidden units, and the leaves carry free multipliers.

Layout of the arrays, 32-bit little-endian signed words, for each disjunct: N, then N words of its
tree in preorder (-1 a leaf, otherwise the hidden unit whose range is halved, the lower half
first), then for each leaf in the same order: shift, one multiplier for each hidden unit.

Why a leaf proves: for ANY real y, adding y · (W x + b - z) = 0 to the polynomial and minimising
over the box and over each unit's range on its own bounds it below:

  constant + y · b + sum_i min over the box of (W^T y)_i x_i
           + sum_j min over the range of (c_j z^d - y_j z)

The halves of a range cover it, so the leaves of a complete tree cover the box. `univariate`
bounds the last minimum.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from flint import fmpz_mat

from assay.proof.arithmetic import Rejected, Unsupported, entries
from assay.proof.claim import Claim, Proof, objectives
from assay.proof.interval import Interval
from assay.proof.monotone import RANGE_BITS, Ends, Separation
from assay.proof.power import PowerNetwork
from assay.proof.univariate import least
from assay.proof.vnnlib import Question
from assay.proof.words import Words, one, take, words_of
from assay.proof.work import charge, limbs

_LARGEST_SHIFT = 120
_DEEPEST_TREE = 200


def prove(claim: Claim) -> Proof:
    faces = faces_left(claim.power_network, claim.question, claim.box)
    return Proof(least_margin(faces, claim.arrays))


def faces_left(network: PowerNetwork, question: Question, box: Interval) -> list[Separation]:
    """For each disjunct, the polynomial on a face of the box that holds a minimiser."""
    return [
        Separation(network.first, network.degree, objective, box).reduced()
        for objective in objectives(question, network.last)
    ]


def least_margin(faces: list[Separation], arrays: bytes | None) -> Fraction:
    """What is proved of all disjuncts, by second order or by the trees in the arrays."""
    if arrays is None:
        return min(left.lower_bound() for left in faces)
    certificate = words_of(arrays)
    margins = [
        _by_splitting(left, certificate, len(arrays) // 4, number)
        for number, left in enumerate(faces)
    ]
    if next(certificate, None) is not None:
        raise Rejected("the certificate's arrays hold more than the trees need")
    return min(margins)


def leaf_bound(
    left: Separation, ranges: list[Ends], shift: int, multipliers: list[int]
) -> Fraction:
    """The bound above with y = multipliers / 2^shift and the hidden units in `ranges`."""
    first, box, coefficients = left.first, left.box, left.objective.coefficients
    charge(first.units * (100 + first.fan_in * limbs(first.length)))
    power = max(shift, 0)
    own = [m << (power - shift) for m in multipliers]
    pulls = entries(fmpz_mat(1, len(own), own) * first.weight)
    ends = zip(pulls, box.lower.numerators, box.upper.numerators, strict=True)
    linear = sum(pull * (low if pull > 0 else high) for pull, low, high in ends)
    biases = sum(m * b for m, b in zip(own, first.bias, strict=True))
    total = Fraction(linear + biases * box.denominator, first.denominator * box.denominator)
    # c z^d - y z for z on the grid, as integers over coefficients.denominator 2^(64 d + power)
    scale = RANGE_BITS * left.degree
    units = 0
    for c, y, (low, high) in zip(coefficients.numerators, own, ranges, strict=True):
        slope = y * coefficients.denominator << (RANGE_BITS * (left.degree - 1))
        units += least(c << power, slope, left.degree, low, high)
    return (
        left.objective.constant
        + Fraction(units, coefficients.denominator << (scale + power))
        + Fraction(total.numerator, total.denominator << power)
    )


def _by_splitting(left: Separation, given: Words, most: int, number: int) -> Fraction:
    """The least bound over the leaves of the tree for one disjunct."""
    tree = take(given, one(given, 1, most))
    bounds = []
    for leaf, ranges in enumerate(_leaves(tree, left.ranges, number)):
        shift = one(given, -_LARGEST_SHIFT, _LARGEST_SHIFT)
        bounds.append(leaf_bound(left, ranges, shift, take(given, len(ranges))))
        if bounds[-1] <= 0:
            raise Rejected(f"leaf {leaf} of the tree for disjunct {number} is not refuted")
    return min(bounds)


def _leaves(tree: list[int], ranges: list[Ends], number: int) -> Iterator[list[Ends]]:
    """The ranges of the hidden units at every leaf of a complete preorder tree."""
    pending = [(ranges, 0)]
    for word in tree:
        if not pending:
            raise Rejected(f"the tree for disjunct {number} goes on after its last leaf")
        charge(20 * len(ranges))
        current, depth = pending.pop()
        if word == -1:
            yield current
            continue
        if not 0 <= word < len(current):
            raise Rejected(f"the tree for disjunct {number} splits on {word}, no hidden unit")
        if depth == _DEEPEST_TREE:
            raise Unsupported(f"the tree for disjunct {number} is deeper than {_DEEPEST_TREE}")
        for half in reversed(halves(current[word])):
            pending.append(([*current[:word], half, *current[word + 1 :]], depth + 1))
    if pending:
        raise Rejected(f"the tree for disjunct {number} lacks {len(pending)} subtrees")


def halves(ends: Ends) -> tuple[Ends, Ends]:
    middle = (ends[0] + ends[1]) // 2
    return (ends[0], middle), (middle, ends[1])
