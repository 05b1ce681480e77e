"""Shares of a cube beside a plane enclose the exact rational ones, and closely."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from assay.analyse.count.halfspace import shares_below

MAGNITUDES = (0.0, 1e-160, 1e-12, 1e-9, 1e-6, 1e-3, 1.0, 1.0, 1e150)


def exact_share(weights: list[float], offset: float) -> Fraction:
    widths = [2 * abs(Fraction(w)) for w in weights if w]
    level = sum(widths) / 2 - Fraction(offset)
    if not widths:
        return Fraction(level >= 0)
    total = Fraction(0)
    for corner in product((0, 1), repeat=len(widths)):
        rest = level - sum(b for b, taken in zip(widths, corner, strict=True) if taken)
        total += (-1) ** sum(corner) * max(rest, Fraction(0)) ** len(widths)
    return total / (math.factorial(len(widths)) * math.prod(widths))


def enclosed(weights: list[float], offset: float, slack: float = 0.0) -> tuple[Fraction, Fraction]:
    tensors = (torch.tensor(v, dtype=torch.float64) for v in ([weights], [offset], [slack]))
    low, high = shares_below(*tensors)
    return Fraction(float(low)), Fraction(float(high))


@st.composite
def planes(draw: st.DrawFn) -> tuple[list[float], float]:
    count = draw(st.integers(1, 8))
    signs = st.floats(-1, 1, allow_subnormal=False)
    scales = st.sampled_from(MAGNITUDES) if draw(st.booleans()) else st.just(1.0)
    weights = [draw(signs) * draw(scales) for _ in range(count)]
    reach = math.fsum(map(abs, weights))
    largest = max(map(abs, weights))
    unit = draw(st.sampled_from([reach, largest, reach * 1e-3]))
    offset = draw(st.sampled_from([0.0, 1.0, -1.0, 1 - 1e-9]) | st.floats(-1.1, 1.1)) * unit
    return weights, offset


@given(planes())
def test_the_exact_share_is_enclosed(plane: tuple[list[float], float]) -> None:
    low, high = enclosed(*plane)
    assert 0 <= low <= exact_share(*plane) <= high <= 1


@given(st.lists(st.floats(0.1, 1), min_size=1, max_size=8), st.floats(-1, 1))
def test_weights_of_like_size_are_enclosed_closely(weights: list[float], place: float) -> None:
    low, high = enclosed(weights, place * sum(weights))
    assert high - low < 1e-8


@given(planes(), st.floats(0, 0.2))
def test_any_offset_within_the_slack_is_covered(
    plane: tuple[list[float], float], part: float
) -> None:
    weights, offset = plane
    slack = part * max(map(abs, weights))
    low, high = enclosed(weights, offset, slack)
    for moved in (offset - slack * 0.999, offset + slack * 0.999):
        assert low <= exact_share(weights, moved) <= high


def test_many_small_weights_beside_large_ones_cost_little() -> None:
    low, high = enclosed([1.0, 0.7, 1e-5, 1e-5, 1e-5, 1e-5, 1e-5, 1e-5], 0.4)
    assert high - low < 1e-9
    low, high = enclosed([1.0, 1e-12, 1e-12, 1e-12], 0.4)
    assert high - low < 1e-13


def test_planes_beyond_the_cube_decide_it_wholly() -> None:
    assert enclosed([0.5, 0.25], 0.8) == (0, 0)
    assert enclosed([0.5, 0.25], -0.8) == (1, 1)
    assert enclosed([0.0, 0.0], 1.0) == (0, 0)
    assert enclosed([], -1.0) == (1, 1)


def test_an_exact_tie_belongs_to_the_share() -> None:
    assert enclosed([0.0, 0.0], 0.0) == (1, 1)


def test_nothing_is_claimed_where_nothing_is_known() -> None:
    assert enclosed([0.0, 0.0], 0.0, 1e-9) == (0, 1)
    assert enclosed([math.nan, 1.0], 0.0) == (0, 1)
    assert enclosed([1.0, 1.0], 0.5, math.inf) == (0, 1)
    assert enclosed([1.0, 1.0], -math.inf) == (1, 1)
    assert enclosed([1.0, 1.0], math.inf) == (0, 0)


@pytest.mark.parametrize("count", [12, 16])
def test_many_coordinates_are_near_a_normal_law(count: int) -> None:
    low, high = enclosed([1.0] * count, -math.sqrt(count / 3))
    assert high - low < 1e-6
    assert abs(float(low) - 0.8413) < 0.01
