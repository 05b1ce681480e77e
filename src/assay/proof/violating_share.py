"""The share of the box that violates, exactly or enclosed, recognised from the bytes alone.

All excesses but one must be positive on the whole box. The one that is left must be C - v relu(F)
with C, v > 0, so that it is violated exactly where F >= C / v. F is a constant plus functions of
single inputs (their values are spread independently), a constant minus hinges of several inputs (a
rotated box or a simplex), or a lock of parities.
"""

from __future__ import annotations

from fractions import Fraction

from assay.proof import dense_share
from assay.proof.arithmetic import Unsupported
from assay.proof.claim import Claim
from assay.proof.form_network import read_forms
from assay.proof.forms import Form, Space
from assay.proof.parity_lock import read_lock
from assay.proof.spread import product, spread


def violating_share(claim: Claim) -> tuple[Fraction, Fraction]:
    """Bounds of the share of the box in which some disjunct holds; equal where it is exact."""
    if any(
        low == high for low, high in zip(claim.question.lower, claim.question.upper, strict=True)
    ):
        raise Unsupported("the box has no volume")
    network = read_forms(claim)
    space = network.space
    open_ones = [e for e in network.excesses(claim) if space.range(e)[0] <= 0]
    if len(open_ones) != 1:
        raise Unsupported("not exactly one disjunct is open, so shares could overlap")
    inside, bound = _bump(space, open_ones[0])
    units = space.units(inside)
    if not units:
        share = _separable_share(space, inside, bound)
    elif len(units) == len(inside.terms):
        share = dense_share.share_above(space, inside, bound)
    else:
        lock = read_lock(space, inside)
        if lock is None:
            raise Unsupported("the violating set is none that the checker measures")
        return lock.share_above(bound)
    return share, share


def _bump(space: Space, excess: Form) -> tuple[Form, Fraction]:
    """F and C / v of an excess C - v relu(F)."""
    if len(excess.terms) == 1 and excess.constant > 0:
        for number, unit in space.units(excess).items():
            if unit.inside is not None and excess.terms[number] < 0:
                return unit.inside, Fraction(excess.constant, -excess.terms[number])
    raise Unsupported("what is left of the open excess is not one bump")


def _separable_share(space: Space, form: Form, bound: Fraction) -> Fraction:
    curves = space.curves(form)
    tops = {i: max(value for _, value in points) for i, points in curves.items()}
    level = form.constant + sum(tops.values()) - bound
    spreads = (
        spread(
            [[(x, tops[i] - value) for x, value in points]],
            space.ends[i][1] - space.ends[i][0],
            level,
        )
        for i, points in curves.items()
    )
    return product(spreads, level).below()
