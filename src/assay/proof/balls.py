"""Tensors of Arb balls: a midpoint and an error bound; every operation contains the true result.

A ball stands for an interval, of rounding errors at a point or of all values over a box. Balls
have `BITS` bits; radii are rounded up by Arb itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import Any

from flint import arb, arb_mat, fmpq

from assay.proof.arithmetic import Rejected, Unsupported, Vector

BITS = 128
Ball = Any
"""One flint.arb, which comes without types."""
_LARGEST_EXPONENT = 1 << 16


@dataclass(frozen=True)
class Balls:
    """A tensor; `entries` in C order."""

    shape: tuple[int, ...]
    entries: list[Ball]

    def matrix(self) -> arb_mat:
        """The one matrix of a tensor whose leading dimensions are all 1."""
        return arb_mat(self.shape[-2], self.shape[-1], self.entries)


def ball(value: Fraction) -> Ball:
    return arb(fmpq(value.numerator, value.denominator))


def hull(low: Ball, high: Ball) -> Ball:
    """A ball that holds two balls and all numbers between them."""
    return low.union(high)


def half(value: Ball) -> Ball:
    return value * arb(fmpq(1, 2))


def quotient(numerator: Ball, denominator: Ball) -> Ball:
    """numerator / denominator; not finite, and so refused later, where that could be 1 / 0."""
    return numerator / denominator


def from_vector(values: Vector, shape: tuple[int, ...]) -> Balls:
    return Balls(shape, [arb(fmpq(n, values.denominator)) for n in values.numerators])


def over_box(lower: Sequence[Fraction], upper: Sequence[Fraction], shape: tuple[int, ...]) -> Balls:
    return Balls(shape, [hull(ball(a), ball(b)) for a, b in zip(lower, upper, strict=True)])


def floor(value: Ball) -> Fraction:
    """The lower end of a ball, exactly."""
    return _fraction(value.lower())


def ceiling(value: Ball) -> Fraction:
    """The upper end of a ball, exactly."""
    return _fraction(value.upper())


def _fraction(end: Ball) -> Fraction:
    if not end.is_finite():
        raise Rejected("balls cannot bound the network here: an enclosure is not finite")
    mantissa, exponent = (int(n) for n in end.mid().man_exp())
    if abs(exponent) > _LARGEST_EXPONENT:
        raise Unsupported("a bound is too large or too small to be written out")
    return Fraction(mantissa << exponent) if exponent >= 0 else Fraction(mantissa, 1 << -exponent)


def positions(shape: tuple[int, ...], target: tuple[int, ...]) -> list[int] | None:
    """For each entry of `target` the entry of `shape` that ONNX broadcasting puts there."""
    if len(shape) > len(target):
        return None
    padded = (1,) * (len(target) - len(shape)) + shape
    if any(own not in (1, wanted) for own, wanted in zip(padded, target, strict=True)):
        return None
    places = [0]
    for axis, (own, wanted) in enumerate(zip(padded, target, strict=True)):
        step = prod(padded[axis + 1 :]) if own > 1 else 0
        places = [place + step * i for place in places for i in range(wanted)]
    return places
