"""Rounding in a known direction."""

from __future__ import annotations

import math
import sys
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from assay.question.directed import float_above, float_below


@given(st.fractions())
def test_float_below_is_the_nearest_from_below(value: Fraction) -> None:
    low = float_below(value)
    assert Fraction(low) <= value < Fraction(math.nextafter(low, math.inf))


def test_float_below_what_overflows() -> None:
    assert float_below(Fraction(10) ** 400) == sys.float_info.max
    assert float_below(-(Fraction(10) ** 400)) == -math.inf


@given(st.fractions())
def test_float_above_mirrors_it(value: Fraction) -> None:
    assert float_above(value) == -float_below(-value)
    assert Fraction(float_above(value)) >= value
