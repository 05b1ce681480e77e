"""Cuts lie between values, keep equal ones together, and are round."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.difficulty.cuts import bins_of, quantile_cuts, round_between, rounded_down, rounded_up

NUMBERS = st.floats(allow_nan=False)


@pytest.mark.parametrize(
    ("low", "high", "cut"),
    [
        (1900, 2140, 2000),
        (0.123, 0.3, 0.2),
        (0.199, 0.201, 0.2),
        (3, 4e5, 1e3),
        (0, 1e-7, 5e-8),
        (-1, 5, 0),
        (-0.3, -0.1, -0.2),
        (7, math.inf, 70),
        (0, math.inf, 1),
        (-math.inf, -7, -70),
        (-math.inf, math.inf, 0),
        (1.0, math.nextafter(1, 2), math.nextafter(1, 2)),
    ],
)
def test_round_numbers(low: float, high: float, cut: float) -> None:
    assert round_between(low, high) == cut


@given(NUMBERS, NUMBERS)
def test_a_cut_always_separates(one: float, other: float) -> None:
    low, high = sorted((one, other))
    if low < high:
        assert low < round_between(low, high) <= high


@given(NUMBERS)
def test_outward_is_outward(value: float) -> None:
    assert rounded_down(value) <= value <= rounded_up(value)


def test_outward_keeps_two_digits() -> None:
    assert (rounded_down(0.3), rounded_up(0.3)) == (0.3, 0.3)
    assert (rounded_down(1234.5), rounded_up(1234.5)) == (1200, 1300)
    assert (rounded_down(-0.0123), rounded_up(-0.0123)) == (-0.013, -0.012)
    assert rounded_up(math.inf) == math.inf


@given(st.lists(NUMBERS, min_size=1, max_size=40), st.integers(2, 8))
def test_parts_hold_equal_values_together_and_none_is_empty(
    values: list[float], parts: int
) -> None:
    column = np.array(values)
    cuts = quantile_cuts(column, parts)
    assert len(cuts) < parts
    assert all(a < b for a, b in pairwise(cuts))
    bins = bins_of(column, cuts)
    assert set(bins.tolist()) == set(range(len(cuts) + 1))


def test_quantiles_of_plain_data_make_equal_parts() -> None:
    bins = bins_of(np.arange(100.0), quantile_cuts(np.arange(100.0), 4))
    assert np.bincount(bins).tolist() == [25, 25, 25, 25]
