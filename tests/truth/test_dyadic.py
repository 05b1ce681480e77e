from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.truth.dyadic import (
    as_written,
    float32_at_least,
    float32_at_most,
    is_float32,
    radius,
    short_above,
    short_below,
)

RATIONALS = st.fractions(min_value=-(10**30), max_value=10**30)


@given(RATIONALS)
def test_float32_neighbours_enclose_tightly(value: Fraction) -> None:
    low, high = float32_at_most(value), float32_at_least(value)
    assert low <= value <= high
    for bound in (low, high):
        assert Fraction(float(np.float32(float(bound)))) == bound
        assert is_float32(bound)
    following = Fraction(float(np.nextafter(np.float32(float(low)), np.float32(math.inf))))
    assert high in (low, following)


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_float32_numbers_are_left_alone(number: float) -> None:
    value = Fraction(number)
    assert is_float32(value)
    assert float32_at_most(value) == value == float32_at_least(value)


def test_too_large_for_float32_is_said() -> None:
    largest = Fraction(float(np.finfo(np.float32).max))
    assert float32_at_most(largest) == largest
    assert not is_float32(Fraction(2**128))
    for value in (Fraction(2**128), -Fraction(2**128) + 1):
        with pytest.raises(OverflowError):
            float32_at_most(value)


@given(st.integers(2**200, 2**2000), st.integers(0, 2000))
def test_long_numbers_become_short_on_the_safe_side(numerator: int, exponent: int) -> None:
    for value in (Fraction(numerator, 1 << exponent), -Fraction(numerator, 1 << exponent)):
        low, high = short_below(value), short_above(value)
        assert low <= value <= high
        assert high - low <= abs(value) / 2**58
        assert (low > 0) == (high > 0) == (value > 0)
    assert short_below(Fraction(1, 3)) == Fraction(1, 3)


def test_asked_numbers_are_read_as_written() -> None:
    assert as_written(0.05) == Fraction(1, 20)
    assert radius(0.05) == Fraction(52429, 2**20)
