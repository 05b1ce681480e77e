"""Regions refuse what is no set of inputs, say their measure, and know their grids."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.analyse.regions import Ball, BoxRegion, norm_named
from assay.errors import BadInput

HALF = np.full(3, 0.5)


@pytest.mark.parametrize("radius", [0, -1, math.inf, math.nan])
def test_a_radius_is_a_positive_number(radius: float) -> None:
    with pytest.raises(BadInput, match="give a number above 0"):
        Ball(HALF, radius, "2")


def test_unknown_norms_are_refused() -> None:
    with pytest.raises(BadInput, match="give one of 1, 2, inf"):
        norm_named("3")
    with pytest.raises(BadInput, match="give one of 1, 2, inf"):
        Ball(HALF, 1, "3")  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_centre_is_finite(bad: float) -> None:
    with pytest.raises(BadInput, match="give finite numbers"):
        Ball(np.array([0.0, bad]), 1, "inf")


@pytest.mark.parametrize("valid", [(1, 0), (0, 0), (math.nan, 1), (-math.inf, 1), (0, math.inf)])
def test_a_range_has_two_ends(valid: tuple[float, float]) -> None:
    with pytest.raises(BadInput, match="low before high"):
        Ball(HALF, 1, "inf", valid)


def test_a_centre_outside_of_the_range_is_named() -> None:
    with pytest.raises(BadInput, match=r"number 1 of the input is 7, outside the range 0 to 1"):
        Ball(np.array([0.5, 7.0]), 1, "inf", (0, 1))


def test_levels_need_a_range_and_are_at_least_two() -> None:
    with pytest.raises(BadInput, match="give the range as well"):
        Ball(HALF, 1, "inf", None, 256)
    with pytest.raises(BadInput, match="give 2 to 65536"):
        Ball(HALF, 1, "inf", (0, 1), 1)


def test_a_grid_without_points_is_refused() -> None:
    with pytest.raises(BadInput, match=r"no level lies within 0.1 of number 0"):
        Ball(HALF, 0.1, "inf", (0, 1), 2).grid()


@pytest.mark.parametrize("ends", [([1.0], [0.0]), ([math.nan], [0.0]), ([0.0], [math.inf])])
def test_a_box_has_finite_bounds_in_order(ends: tuple[list[float], list[float]]) -> None:
    with pytest.raises(BadInput, match="input 0 lies between"):
        BoxRegion(*map(np.array, ends))


def test_measures_are_said() -> None:
    assert BoxRegion(-HALF, HALF).measure == "uniform on the box"
    assert Ball(HALF, 0.2, "1").measure == "uniform on the l1 ball of radius 0.2"
    assert "intersection of the l2 ball of radius 0.2 and [0, 1]^3" in (
        Ball(HALF, 0.2, "2", (0, 1)).measure
    )
    assert "points of 256 levels" in Ball(HALF, 0.2, "inf", (0, 1), 256).measure


@given(
    st.lists(st.integers(0, 255), min_size=1, max_size=5),
    st.integers(1, 300),
    st.sampled_from([1.0, 1 / 255, 0.1]),
)
def test_the_grid_around_a_grid_point_is_what_whole_numbers_say(
    levels: list[int], reach: int, step: float
) -> None:
    """Also where centre and radius were rounded to float32 on their way."""
    centre = np.array([np.float32(k * step) for k in levels], np.float64)
    ball = Ball(centre, float(np.float32(reach * step)), "inf", (0, 255 * step), 256)
    first, last = ball.grid()
    assert first.tolist() == [max(0, k - reach) for k in levels]
    assert last.tolist() == [min(255, k + reach) for k in levels]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=4), st.floats(0.01, 2))
def test_the_box_of_a_ball_is_the_smallest(centre: list[float], radius: float) -> None:
    ball = Ball(np.array(centre), radius, "1", (0, 1))
    for i, c in enumerate(centre):
        assert ball.box.lower[i] == max(0, c - radius)
        assert ball.box.upper[i] == min(1, c + radius)


def test_a_centre_between_levels_keeps_its_place() -> None:
    ball = Ball(np.array([0.25, 0.5]), 1, "2", (0, 1), 3)
    assert ball.centre_level.tolist() == [0.5, 1]
    inside = [p for p in product((0, 0.5, 1), repeat=2) if math.dist(p, ball.centre) <= 1]
    assert len(inside) == 9
