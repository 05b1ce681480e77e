"""Confidence sequences: coverage over all times at once, simulated and exact; their intervals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from assay.analyse.binomial import clopper_pearson
from assay.analyse.promise import Promise
from assay.analyse.rules.confidence_sequence import designed_sequence
from assay.analyse.sequential import ConfidenceSequence
from assay.analyse.stopping import Operation, operation
from assay.errors import BadInput

RATES = (1e-4, 1e-3, 0.01, 0.1, 0.5, 0.9)
PATHS = 2_000
HORIZON = 20_000
# A false alarm of the simulation, per rate.
CHANCE = 1e-6

SEQUENCES = {
    "general": ConfidenceSequence(0.02, 0.05),
    "designed": designed_sequence(Promise(0.1, 0.095, alpha=0.02, beta=0.05)),
}


def exact_misses(sequence: ConfidenceSequence, rate: float) -> Operation:
    """`robust`: the rate was ever above the interval, `not_robust`: ever below, at any sample."""
    every = sequence.excluding(rate, rate, np.arange(1, HORIZON + 1))
    return operation(every.part, rate, HORIZON)


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("name", SEQUENCES)
def test_the_exact_probability_of_ever_missing_keeps_the_errors(name: str, rate: float) -> None:
    sequence = SEQUENCES[name]
    misses = exact_misses(sequence, rate)
    assert misses.lost < 1e-9
    assert misses.robust + misses.lost <= sequence.error_above
    assert misses.not_robust + misses.lost <= sequence.error_below


@pytest.mark.parametrize("rate", RATES)
def test_simulated_paths_are_covered_at_all_times(rate: float) -> None:
    sequence = SEQUENCES["general"]
    every = sequence.excluding(rate, rate, np.arange(1, HORIZON + 1))
    random = np.random.default_rng([7, round(1e4 * rate)])
    missed = 0
    for _ in range(PATHS // 100):
        failures = np.cumsum(random.random((100, HORIZON)) < rate, axis=1)
        outside = (failures <= every.accept_at) | (failures >= every.reject_at)
        missed += int(outside.any(axis=1).sum())
    promised = sequence.error_above + sequence.error_below
    assert missed <= binom.ppf(1 - CHANCE, PATHS, promised)
    exact = exact_misses(sequence, rate)
    low, high = binom.ppf([CHANCE / 2, 1 - CHANCE / 2], PATHS, exact.robust + exact.not_robust)
    assert low <= missed <= high


@pytest.mark.parametrize("name", SEQUENCES)
@given(st.integers(1, 10**7), st.floats(0, 1), st.floats(1e-5, 0.999))
def test_a_rate_is_outside_the_interval_exactly_when_it_is_excluded(
    name: str, samples: int, share: float, rate: float
) -> None:
    sequence = SEQUENCES[name]
    bounds = sequence.excluding(rate, rate, np.array([samples]))
    some = round(share * samples)
    for failures in {some, int(bounds.accept_at[0]), int(bounds.reject_at[0])}:
        if not 0 <= failures <= samples:
            continue
        lower, upper = sequence.interval(samples, failures)
        assert (upper <= rate) == (failures <= bounds.accept_at[0])
        assert (lower >= rate) == (failures >= bounds.reject_at[0])


@given(st.integers(1, 10**6), st.floats(0, 1))
def test_an_interval_holds_the_observed_share_and_clopper_pearson(
    samples: int, share: float
) -> None:
    failures = round(share * samples)
    lower, upper = ConfidenceSequence(0.025, 0.025).interval(samples, failures)
    fixed_lower, fixed_upper = clopper_pearson(failures, samples, 0.95)
    assert 0 <= lower <= fixed_lower <= failures / samples <= fixed_upper <= upper <= 1


def test_intervals_of_many_counts_at_once() -> None:
    sequence = ConfidenceSequence(0.025, 0.025)
    samples, failures = np.array([[0], [10], [10]]), np.array([[0], [0], [10]])
    lower, upper = sequence.interval(samples, failures)
    assert lower.shape == (3, 1)
    assert (lower[0, 0], upper[0, 0]) == (0, 1)
    assert lower[1, 0] == 0
    assert upper[2, 0] == 1
    assert upper[1, 0] == pytest.approx(1 - lower[2, 0])


def test_no_count_overflows_on_the_way() -> None:
    sequence = ConfidenceSequence(0.025, 0.025)
    with np.errstate(divide="raise", over="raise", invalid="raise"):
        for samples, failures in ((0, 0), (10, 0), (10, 10), (10**8, 0), (10**8, 1)):
            lower, upper = sequence.interval(samples, failures)
            assert 0 <= lower < upper <= 1
        bounds = sequence.excluding(0.1, np.float64(5e-324), np.arange(1, 100))
    assert bounds.reject_at.tolist() == [1] * 99


def test_intervals_shrink_at_nearly_the_best_speed() -> None:
    samples = np.array([10**3, 10**4, 10**5, 10**6, 10**7, 10**8])
    lower, upper = ConfidenceSequence(0.025, 0.025).interval(samples, samples // 100)
    fixed_lower, fixed_upper = clopper_pearson(samples // 100, samples, 0.95)
    assert np.all(upper - lower < 2.2 * (fixed_upper - fixed_lower))


@pytest.mark.parametrize("errors", [(0.0, 0.1), (0.1, 1.0), (0.1, -1.0)])
def test_errors_that_are_no_probabilities_are_refused(errors: tuple[float, float]) -> None:
    with pytest.raises(BadInput, match="above 0 and below 1"):
        ConfidenceSequence(*errors)


def test_impossible_counts_are_refused() -> None:
    with pytest.raises(BadInput, match="counts"):
        ConfidenceSequence(0.1, 0.1).interval(3, 4)
