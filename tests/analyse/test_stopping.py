"""Exact operating characteristics against enumeration of all sequences of outcomes."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from assay.analyse.binomial import FixedTest
from assay.analyse.boundaries import EVERY_SAMPLE, NEVER, Boundaries, looks
from assay.analyse.rules._curtailed import curtailed
from assay.analyse.stopping import operation

LONGEST = 9


@st.composite
def rules(draw: st.DrawFn) -> Boundaries:
    at = sorted(draw(st.sets(st.integers(1, LONGEST), min_size=1)))
    accept = draw(st.lists(st.integers(-1, 4), min_size=len(at), max_size=len(at)))
    reject = draw(
        st.lists(
            st.one_of(st.integers(0, LONGEST), st.just(NEVER)), min_size=len(at), max_size=len(at)
        )
    )
    return Boundaries(np.array(at), np.array(accept), np.array(reject))


@given(rules(), st.sampled_from([0.0, 0.1, 0.5, 0.8, 1.0]))
def test_it_agrees_with_all_sequences_of_outcomes(bounds: Boundaries, rate: float) -> None:
    ends = {"robust": 0.0, "not robust": 0.0, "undecided": 0.0}
    samples = 0.0
    for outcomes in product([0, 1], repeat=LONGEST):
        probability = float(np.prod([rate if failed else 1 - rate for failed in outcomes]))
        ending, stopped = "undecided", LONGEST
        for at, accept, reject in zip(bounds.at, bounds.accept_at, bounds.reject_at, strict=True):
            failures = sum(outcomes[:at])
            if failures >= reject or failures <= accept:
                ending = "not robust" if failures >= reject else "robust"
                stopped = int(at)
                break
        ends[ending] += probability
        samples += probability * stopped
    found = operation(bounds.part, rate, LONGEST)
    assert found.robust == pytest.approx(ends["robust"], abs=1e-12)
    assert found.not_robust == pytest.approx(ends["not robust"], abs=1e-12)
    assert found.undecided == pytest.approx(ends["undecided"], abs=1e-12)
    assert found.samples == pytest.approx(samples)
    assert found.lost < 1e-12


@pytest.mark.parametrize("rate", [0.0, 0.01, 0.03, 0.5])
def test_a_curtailed_test_has_the_errors_of_the_whole_one(rate: float) -> None:
    test = FixedTest(samples=30_000, allowed=450)
    found = operation(curtailed(test), rate, test.samples)
    assert found.robust == pytest.approx(test.robust(rate), rel=1e-9, abs=1e-30)
    assert found.not_robust == pytest.approx(test.not_robust(rate), rel=1e-9, abs=1e-30)
    # It goes on as long as neither has too many failures nor enough successes come.
    counts = np.arange(test.samples)
    going = binom.cdf(test.allowed, counts, rate)
    going -= binom.cdf(counts - (test.samples - test.allowed), counts, rate)
    assert found.samples == pytest.approx(going.sum(), rel=1e-9)


def test_the_first_failure_is_geometric() -> None:
    def between(after: int, upto: int) -> Boundaries:
        at = np.arange(after + 1, upto + 1)
        return Boundaries(at, np.full_like(at, -1), np.full_like(at, 1))

    found = operation(between, 1e-4, 50_000)
    assert found.undecided == pytest.approx((1 - 1e-4) ** 50_000, rel=1e-6)
    assert found.samples == pytest.approx((1 - (1 - 1e-4) ** 50_000) / 1e-4, rel=1e-6)


def test_looks_are_the_same_however_they_are_asked_for() -> None:
    whole = looks(0, 100_000)
    cuts = [0, 1, 4_095, 4_096, 4_097, 50_001, 100_000]
    pieces = [looks(a, b) for a, b in pairwise(cuts)]
    assert np.concatenate(pieces).tolist() == whole.tolist()
    assert whole[:EVERY_SAMPLE].tolist() == list(range(1, EVERY_SAMPLE + 1))
    assert np.all(np.diff(whole) <= np.maximum(1, whole[1:] / 2048))
