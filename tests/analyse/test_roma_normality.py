"""The test of normality and the power transformation: against scipy, simulation and theory."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from assay.analyse.box_cox import BoxCox, fitted_box_cox
from assay.analyse.normality import anderson_darling, fitted_normal, p_value


@pytest.mark.parametrize("law", ["normal", "exponential", "uniform"])
def test_the_statistic_is_scipys(law: str) -> None:
    values = getattr(np.random.default_rng(1), law)(size=300)
    wanted = stats.anderson(values, method="interpolate").statistic
    assert fitted_normal(values).statistic == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize(("n", "level"), [(8, 0.05), (50, 0.01), (200, 0.05), (200, 0.25)])
def test_normal_samples_are_rejected_as_often_as_the_level_says(n: int, level: float) -> None:
    rng, runs = np.random.default_rng(n), 4000
    rejected = sum(fitted_normal(rng.normal(3, 7, n)).p_value <= level for _ in range(runs))
    error = np.sqrt(level * (1 - level) / runs)
    assert abs(rejected / runs - level) < 4 * error + 0.04 * level


def test_p_values_meet_the_tabulated_critical_values() -> None:
    for level, critical in ((0.10, 0.631), (0.05, 0.752), (0.025, 0.873), (0.01, 1.035)):
        assert p_value(critical, 10**9) == pytest.approx(level, rel=0.02)


def test_p_values_only_fall_also_far_out_where_the_formula_would_rise() -> None:
    found = [p_value(a, 1000) for a in np.geomspace(0.01, 1e4, 400)]
    assert all(a >= b - 2e-3 for a, b in itertools.pairwise(found))
    assert found[-1] < 1e-20


@given(st.floats(-1e3, 1e3), st.floats(1e-3, 1e3))
def test_the_statistic_knows_no_units(shift: float, scale: float) -> None:
    values = np.random.default_rng(2).gamma(5, size=100)
    wanted = fitted_normal(values).statistic
    assert fitted_normal(scale * values + shift).statistic == pytest.approx(wanted, abs=1e-6)


def test_far_outliers_have_a_finite_statistic() -> None:
    z = np.zeros(1000)
    z[0] = 31.6
    assert np.isfinite(anderson_darling(z))


def test_the_power_is_scipys() -> None:
    values = np.random.default_rng(3).gamma(3, size=1000)
    found = fitted_box_cox(values, floor=0.0)
    assert found.shift == 0
    assert found.power == pytest.approx(stats.boxcox_normmax(values, method="mle"), abs=1e-4)


@given(st.floats(-100, 100), st.floats(1e-2, 1e2))
def test_without_a_floor_the_transformation_moves_with_the_units(
    shift: float, scale: float
) -> None:
    values = np.random.default_rng(4).gamma(3, size=200)
    moved = scale * values + shift
    here, there = fitted_box_cox(values), fitted_box_cox(moved)
    assert there.power == pytest.approx(here.power, abs=1e-3)
    assert there.of(moved) == pytest.approx(here.of(values), abs=1e-3)


@given(st.floats(-5, 5), st.lists(st.floats(0.01, 100), min_size=2, max_size=20))
def test_order_is_kept(power: float, values: list[float]) -> None:
    given_ones = np.sort(np.array(values))
    assert (np.diff(BoxCox(0.0, 1.0, power).of(given_ones)) >= 0).all()


def test_a_threshold_below_the_reach_goes_to_the_lower_end() -> None:
    assert BoxCox(1.0, 1.0, 0.5).of_threshold(-3) == -2
    assert BoxCox(1.0, 1.0, -0.5).of_threshold(-3) == -np.inf
