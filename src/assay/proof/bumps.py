"""An excess as a constant less bumps v relu(F), and where bumps cannot meet.

Where no two bumps are positive at once, the excess is the constant less the highest of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, pairwise

from flint import fmpq

from assay.proof import dense_share
from assay.proof.arithmetic import Unsupported, from_flint
from assay.proof.forms import RELU, Form, Points, Space
from assay.proof.work import charge

Reach = dict[int, tuple[fmpq, fmpq]]


@dataclass(frozen=True)
class Bump:
    """`weight` relu(inside), which is at most `high`; it violates from `bound` on."""

    inside: Form
    bound: fmpq
    high: fmpq


def read_bumps(space: Space, excess: Form) -> list[Bump]:
    """All terms of an excess as bumps; none if it is something else."""
    units = space.units(excess)
    plain = all(u.curve == RELU and excess.terms[n] < 0 for n, u in units.items())
    if excess.constant <= 0 or len(units) < len(excess.terms) or not plain:
        return []
    return [
        Bump(unit.inside, -excess.constant * excess.terms[n] ** -1, -excess.terms[n] * unit.high)
        for n, unit in units.items()
    ]


def least(space: Space, excess: Form) -> Fraction:
    """A lower bound of an excess on the box."""
    plain, bumps = space.least(excess), read_bumps(space, excess)
    if plain > 0 or len(bumps) < 2 or not are_apart(space, bumps):
        return plain
    return from_flint(excess.constant - max(bump.high for bump in bumps))


def are_apart(space: Space, bumps: Sequence[Bump]) -> bool:
    """Whether no two bumps are positive at the same place, and each violates where it is."""
    if any(bump.bound <= 0 for bump in bumps):
        return False
    try:
        reaches = [reach(space, bump.inside) for bump in bumps]
    except Unsupported:
        return False
    charge(100 * len(reaches) * sum(map(len, reaches)))
    return all(
        any(a[i][1] <= b[i][0] or b[i][1] <= a[i][0] for i in a.keys() & b.keys())
        for a, b in combinations(reaches, 2)
    )


def reach(space: Space, form: Form) -> Reach:
    """Of the inputs that a form depends on, the interval outside of which it is not positive."""
    if space.units(form):
        return dense_share.ends(space, form)
    curves = space.curves(form)
    tops = {i: max(value for _, value in points) for i, points in curves.items()}
    top = form.constant + sum(tops.values(), fmpq(0))
    return {i: _above(points, tops[i] - top) for i, points in curves.items()}


def _above(points: Points, threshold: fmpq) -> tuple[fmpq, fmpq]:
    """Where a function is at least a threshold: from the first such place to the last."""
    places = [x for x, value in points if value >= threshold]
    for (x, value), (following, other) in pairwise(points):
        if (value - threshold) * (other - threshold) < 0:
            places.append(x + (threshold - value) * (other - value) ** -1 * (following - x))
    return (min(places), max(places)) if places else (points[0][0], points[0][0])
