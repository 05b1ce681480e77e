"""Sigmoid and Tanh of single numbers, there and back, between rational bounds.

Both rise, and their slope is a concave function of their value: v (1 - v) and 1 - v^2.
"""

from __future__ import annotations

from flint import ctx, fmpq

from assay.proof.arithmetic import Unsupported, from_flint, to_flint
from assay.proof.balls import BITS, Ball, ball, ceiling, floor, half

CURVES = ("Sigmoid", "Tanh")
Ends = tuple[fmpq, fmpq]


def curve_value(curve: str, at: fmpq) -> Ends:
    """Bounds of the curve's value."""
    with ctx.workprec(BITS):
        x = ball(from_flint(at))
        return _ends(half(1 + half(x).tanh()) if curve == "Sigmoid" else x.tanh())


def curve_place(curve: str, reached: fmpq) -> Ends:
    """Bounds of where the curve has a value."""
    at = 2 * reached - 1 if curve == "Sigmoid" else reached
    if abs(at) >= 1:
        raise Unsupported(f"{curve} reaches no such value")
    with ctx.workprec(BITS):
        x = ball(from_flint(at)).atanh()
        return _ends(2 * x if curve == "Sigmoid" else x)


def curve_slopes(curve: str, values: Ends) -> Ends:
    """The least and the largest slope where the curve's value lies between these two."""
    middle, ends = fmpq(1, 2) if curve == "Sigmoid" else fmpq(0), sorted(values)
    found = [_slope(curve, v) for v in (*ends, min(max(middle, ends[0]), ends[1]))]
    return min(found), max(found)


def _slope(curve: str, reached: fmpq) -> fmpq:
    return reached * (1 - reached) if curve == "Sigmoid" else 1 - reached * reached


def _ends(found: Ball) -> Ends:
    low, high = floor(found), ceiling(found)
    return to_flint(low), to_flint(high)
