"""The share of the box that violates, exactly or enclosed, recognised from the bytes alone.

An excess that is not positive on the whole box is C - v relu(F) with C, v > 0, so that it violates
exactly where F >= C / v, or C less several such bumps, or it is -F, which violates where F >= 0.
Bumps must not meet, so that the shares of all of them add up.
F is a constant plus functions of single inputs (their values are spread independently), a constant
minus hinges of several inputs (a rotated box or a simplex) or of smooth curves, or a lock of
parities.
"""

from __future__ import annotations

from fractions import Fraction

from flint import fmpq

from assay.proof import curved_share, dense_share
from assay.proof.arithmetic import Unsupported
from assay.proof.bumps import Bump, are_apart, read_bumps
from assay.proof.claim import Claim
from assay.proof.form_network import read_forms
from assay.proof.forms import Form, Space, scaled
from assay.proof.parity_lock import read_lock
from assay.proof.spread import product, spread

_MOST_INPUTS = 256


def violating_share(claim: Claim) -> tuple[Fraction, Fraction]:
    """Bounds of the share of the box in which some disjunct holds; equal where it is exact."""
    ends = list(zip(claim.question.lower, claim.question.upper, strict=True))
    if len(ends) > _MOST_INPUTS or any(low == high for low, high in ends):
        raise Unsupported("the box has no volume, or more inputs than the checker measures")
    network = read_forms(claim)
    space = network.space
    open_ones = [e for e in network.excesses(claim) if space.least(e) <= 0]
    if not open_ones:
        raise Unsupported("no disjunct can hold on the box")
    bumps = [bump for excess in open_ones for bump in _bumps(space, excess)]
    if len(bumps) > 1 and not are_apart(space, bumps):
        raise Unsupported("several bumps or disjuncts are open, so shares could overlap")
    shares = [_share(space, bump.inside, bump.bound) for bump in bumps]
    return sum((low for low, _ in shares), Fraction(0)), sum((u for _, u in shares), Fraction(0))


def _bumps(space: Space, excess: Form) -> list[Bump]:
    """What violates where it reaches a bound; a bump that is never cut off is followed as it is."""
    return read_bumps(space, excess) or [Bump(scaled(fmpq(-1), excess), fmpq(0), fmpq(0))]


def _share(space: Space, inside: Form, bound: fmpq) -> tuple[Fraction, Fraction]:
    units = space.units(inside)
    if not units:
        share = _separable_share(space, inside, bound)
    elif any(space.units(unit.inside) for unit in units.values()):
        return curved_share.share_above(space, inside, bound)
    elif len(units) == len(inside.terms):
        share = dense_share.share_above(space, inside, bound)
    else:
        lock = read_lock(space, inside)
        if lock is None:
            raise Unsupported("the violating set is none that the checker measures")
        return lock.share_above(bound)
    return share, share


def _separable_share(space: Space, form: Form, bound: fmpq) -> Fraction:
    curves = space.curves(form)
    tops = {i: max(value for _, value in points) for i, points in curves.items()}
    level = form.constant + sum(tops.values(), fmpq(0)) - bound
    spreads = (
        spread(
            [[(x, tops[i] - value) for x, value in points]],
            space.side(i),
            level,
        )
        for i, points in curves.items()
    )
    return product(spreads, level).below()
