"""Clopper-Pearson and the smallest fixed test, against exact arithmetic and exhaustive search."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
from flint import arb, ctx, fmpq
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from assay.analyse.binomial import FixedTest, clopper_pearson, smallest_test
from assay.analyse.promise import Promise
from assay.errors import BadInput

PAPER_SETTINGS = [
    (0.001, 1e-6, 9_230),
    (0.01, 0.005, 11_036),
    (0.05, 0.045, 69_085),
    (0.1, 0.095, 134_443),
    (0.2, 0.195, 242_180),
]


def tail(test: FixedTest, rate: str) -> arb:
    """P(at most `allowed` failures) at a decimal rate, as a ball of 300 bits."""
    whole, _, digits = rate.partition(".")
    p = arb(fmpq(int(whole + digits), 10 ** len(digits)))
    term, total = (1 - p) ** test.samples, arb(0)
    for failures in range(test.allowed + 1):
        total += term
        term *= (test.samples - failures) * p / ((failures + 1) * (1 - p))
    return total


@pytest.mark.parametrize(("eps", "eps_inner", "samples"), PAPER_SETTINGS)
def test_the_smallest_tests_of_the_papers_settings(
    eps: float, eps_inner: float, samples: int
) -> None:
    test = smallest_test(Promise(eps, eps_inner))
    assert test.samples == samples
    precision = ctx.prec
    try:
        ctx.prec = 300
        assert tail(test, f"{eps:.3f}") < arb("0.001")
        assert 1 - tail(test, f"{eps_inner:.6f}") < arb("0.001")
        assert abs(float(tail(test, f"{eps:.3f}").mid()) / test.robust(eps) - 1) < 1e-10
    finally:
        ctx.prec = precision


@settings(max_examples=60, deadline=None)
@given(
    st.floats(0.05, 0.9),
    st.floats(0.0, 0.7),
    st.sampled_from([0.3, 0.1, 0.01]),
    st.sampled_from([0.3, 0.1, 0.01]),
)
def test_no_shorter_test_keeps_the_promise(
    eps: float, share: float, alpha: float, beta: float
) -> None:
    promise = Promise(eps, share * eps, alpha, beta)
    test = smallest_test(promise)
    assert test.robust(eps) <= beta
    assert test.not_robust(promise.eps_inner) <= alpha
    for samples in range(max(1, test.samples - 60), test.samples):
        allowed = np.arange(samples)
        kept = binom.cdf(allowed, samples, eps) <= beta * (1 - 1e-9)
        kept &= binom.sf(allowed, samples, promise.eps_inner) <= alpha * (1 - 1e-9)
        assert not kept.any()


@given(st.integers(1, 60), st.integers(0, 60), st.sampled_from([0.5, 0.9, 0.999]))
def test_clopper_pearson_leaves_half_the_error_on_each_side(
    samples: int, failures: int, confidence: float
) -> None:
    failures = min(failures, samples)
    lower, upper = (float(end) for end in clopper_pearson(failures, samples, confidence))
    side = (1 - confidence) / 2

    def law(rate: float, k: int) -> float:
        return comb(samples, k) * rate**k * (1 - rate) ** (samples - k)

    if failures > 0:
        as_many = sum(law(lower, k) for k in range(failures, samples + 1))
        assert as_many == pytest.approx(side, rel=1e-8)
    else:
        assert lower == 0
    if failures < samples:
        as_few = sum(law(upper, k) for k in range(failures + 1))
        assert as_few == pytest.approx(side, rel=1e-8)
    else:
        assert upper == 1


def test_clopper_pearson_keeps_an_error_near_the_last_bit() -> None:
    confidence, n = 1 - 3 * 2.0**-53, 50
    side = 1.5 * 2.0**-53
    lower, upper = clopper_pearson([0, n], n, confidence)
    assert upper[0] == pytest.approx(1 - side ** (1 / n), rel=1e-9)
    assert lower[1] == pytest.approx(side ** (1 / n), rel=1e-9)


def test_clopper_pearson_covers_every_rate() -> None:
    counts = np.arange(31)
    lower, upper = clopper_pearson(counts, 30, 0.9)
    for rate in np.linspace(0, 1, 101):
        covering = (lower <= rate) & (rate <= upper)
        assert binom.pmf(counts, 30, rate)[covering].sum() >= 0.9


@pytest.mark.parametrize(
    ("failures", "samples", "confidence"), [(3, 2, 0.9), (-1, 2, 0.9), (0, 1, 1)]
)
def test_counts_that_cannot_be_are_refused(failures: int, samples: int, confidence: float) -> None:
    with pytest.raises(BadInput):
        clopper_pearson(failures, samples, confidence)
