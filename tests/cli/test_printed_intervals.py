"""An interval that is printed in four digits holds the one that was proved."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.cli.exact_numbers import outward_interval

RATES = st.just(0.0) | st.floats(1e-300, 1)


@given(RATES, RATES)
def test_rounding_is_outward(one: float, other: float) -> None:
    low, high = sorted((one, other))
    first, last = (Fraction(end) for end in outward_interval(low, high)[1:-1].split(", "))
    assert first <= Fraction(low)
    assert last >= Fraction(high)
    assert Fraction(low) - first <= Fraction(low) / 1000
    assert last - Fraction(high) <= Fraction(high) / 1000


@pytest.mark.parametrize(
    ("ends", "shown"),
    [
        ((0.0, 1.0), "[0, 1]"),
        ((0.012345, 0.012345), "[0.01234, 0.01235]"),
        ((0.5, 0.25), "[0.5, 0.25]"),
    ],
)
def test_numbers_are_written_as_usual(ends: tuple[float, float], shown: str) -> None:
    assert outward_interval(*ends) == shown
