"""Dyadic rationals: rounding to grids, to float32 and to short numbers, all exact.

Inputs, centres and radii of the constructed families live on the grids named here, so that
their decimal text is the same number in float32, float64 and rationals.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

CENTRE_BITS = 8
"""Centres are multiples of 2^-8 in [-1/2, 1/2]."""

RADIUS_BITS = 20
"""Radii are multiples of 2^-20: with |centre| <= 1/2 and radius <= 1 every bound is float32."""

_SIGNIFICANT = 24
_SMALLEST = -149
_LARGEST = 128


def power(exponent: int) -> Fraction:
    """2^exponent, also for negative exponents."""
    return Fraction(1 << exponent) if exponent >= 0 else Fraction(1, 1 << -exponent)


def float32_over(integers: NDArray[np.int64], exponent: int) -> NDArray[np.float32]:
    """The integers times 2^exponent; exact as long as they have at most 24 bits."""
    return (integers * float(power(exponent))).astype(np.float32)


def as_written(value: float) -> Fraction:
    """The rational of the shortest decimal text of a float: 0.05 is 1/20."""
    return Fraction(repr(float(value)))


def radius(asked: float) -> Fraction:
    """The radius on its grid that is nearest to the one asked for."""
    return nearest(as_written(asked), -RADIUS_BITS)


def nearest(value: Fraction, exponent: int) -> Fraction:
    """The multiple of 2^exponent nearest to `value`."""
    unit = power(exponent)
    return round(value / unit) * unit


def short(value: Fraction, bits: int) -> Fraction:
    """The number of so many significant bits that is nearest to `value`."""
    return nearest(value, leading_exponent(value) + 1 - bits) if value else value


def leading_exponent(value: Fraction) -> int:
    """The e with 2^e <= |value| < 2^(e+1); `value` is not zero."""
    magnitude = abs(value)
    guess = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    return guess if power(guess) <= magnitude else guess - 1


def float32_at_most(value: Fraction) -> Fraction:
    """The largest finite float32 that is not above `value`."""
    if value == 0:
        return value
    exponent = leading_exponent(value)
    if exponent >= _LARGEST:
        raise OverflowError(f"about 2^{exponent} is too large for float32")
    rounded = _floor(value, max(exponent - _SIGNIFICANT + 1, _SMALLEST))
    if abs(rounded) >= power(_LARGEST):
        raise OverflowError("rounds below the smallest finite float32")
    return rounded


def float32_at_least(value: Fraction) -> Fraction:
    """The smallest finite float32 that is not below `value`."""
    return -float32_at_most(-value)


def is_float32(value: Fraction) -> bool:
    """Whether `value` is exactly a finite float32 number."""
    try:
        return float32_at_most(value) == value
    except OverflowError:
        return False


def short_below(value: Fraction, bits: int = 60, longest: int = 160) -> Fraction:
    """`value` itself when its text is short, otherwise rounded down to `bits` significant bits."""
    if value.numerator.bit_length() + value.denominator.bit_length() <= longest:
        return value
    return _floor(value, leading_exponent(value) - bits + 1)


def short_above(value: Fraction, bits: int = 60, longest: int = 160) -> Fraction:
    """`value` itself when its text is short, otherwise rounded up to `bits` significant bits."""
    return -short_below(-value, bits, longest)


def _floor(value: Fraction, exponent: int) -> Fraction:
    unit = power(exponent)
    return (value / unit).__floor__() * unit
