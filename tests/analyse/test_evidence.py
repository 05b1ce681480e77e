"""Mixtures of likelihood ratios: their mean, their monotony, and the safe side of rounding."""

from __future__ import annotations

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from assay.analyse.evidence import Evidence, Mixture, geometric

RATES = st.floats(1e-4, 0.999)


@st.composite
def mixtures(draw: st.DrawFn) -> Mixture:
    gaps = draw(st.lists(st.floats(1e-3, 1.0), min_size=1, max_size=5))
    shares = np.array(draw(st.lists(st.integers(1, 9), min_size=len(gaps), max_size=len(gaps))))
    return Mixture(tuple(gaps), tuple(shares / shares.sum()))


@given(mixtures(), RATES, st.floats(0, 1), st.integers(1, 60))
def test_the_mean_is_at_most_one_where_the_rate_is_as_claimed(
    mixture: Mixture, p: float, above: float, trials: int
) -> None:
    hits = np.arange(trials + 1)
    logarithms = Evidence(mixture, 1 - 1e-12).excess(p / (1 - p), np.full_like(hits, trials), hits)
    for rate in (p, p + above * (1 - p)):
        mean = float((binom.pmf(hits, trials, rate) * np.exp(logarithms)).sum())
        assert mean <= 1
        assert rate > p or mean == pytest.approx(1, rel=1e-6)


@given(mixtures(), RATES, RATES, st.integers(1, 1000))
def test_it_grows_with_the_rate_and_falls_with_the_hits(
    mixture: Mixture, first: float, second: float, trials: int
) -> None:
    low, high = sorted((first, second))
    hits = np.arange(trials + 1)
    evidence = Evidence(mixture, 0.01)
    counts = np.full_like(hits, trials)
    at_low, at_high = (evidence.excess(p / (1 - p), counts, hits) for p in (low, high))
    assert np.all(at_low <= at_high + 1e-9)
    assert np.all(np.diff(at_low) <= 1e-9)


@given(mixtures(), RATES, st.sampled_from([0.5, 0.05, 1e-3, 1e-9]))
def test_the_most_hits_are_those_of_an_exhaustive_search(
    mixture: Mixture, p: float, error: float
) -> None:
    evidence = Evidence(mixture, error)
    trials = np.arange(1, 121)
    grid, hits = np.meshgrid(trials, np.arange(121), indexing="ij")
    excluded = (evidence.excess(p / (1 - p), grid, np.minimum(hits, grid)) >= 0) & (hits <= grid)
    expected = np.where(excluded.any(axis=1), 120 - np.argmax(excluded[:, ::-1], axis=1), -1)
    assert evidence.most_hits(p / (1 - p), trials).tolist() == expected.tolist()


@settings(max_examples=100, deadline=None)
@given(st.floats(1e-6, 0.9), st.integers(1, 10**8), st.floats(0, 1))
def test_rounding_never_adds_evidence(p: float, trials: int, share: float) -> None:
    mixture, error = geometric(20, 1.3), 0.001
    hits = round(share * p * trials)
    count, hit = np.array([trials]), np.array([hits])
    claimed = float(Evidence(mixture, error).excess(p / (1 - p), count, hit)[0])
    precision = ctx.prec
    try:
        ctx.prec = 300
        exact = arb(0)
        for gap, weight in zip(mixture.gaps, mixture.weights, strict=True):
            gain = (1 + arb(gap) * arb(p) / (1 - arb(p))) ** (trials - hits)
            exact += arb(weight) * (1 - arb(gap)) ** hits * gain
        true = float((exact * arb(error)).log().mid())
    finally:
        ctx.prec = precision
    assert claimed <= true
    # Close to the threshold, where it counts, hardly anything is given away.
    assert abs(true) > 50 or claimed >= true - 1e-6


@pytest.mark.parametrize(("gaps", "weights"), [((0.0,), (1.0,)), ((0.5, 0.2), (0.5, 0.4))])
def test_a_mixture_is_checked(gaps: tuple[float, ...], weights: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="mixture"):
        Mixture(gaps, weights)
