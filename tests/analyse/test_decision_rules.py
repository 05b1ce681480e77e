"""The decision rules: exact errors by dynamic programming, samples, and runs cut anyhow."""

from __future__ import annotations

from pathlib import Path

import decision_samples
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from assay.analyse import rules
from assay.analyse.binomial import smallest_test
from assay.analyse.decision import Decision, Rule, Verdict
from assay.analyse.promise import Promise, inner_rate
from assay.analyse.rules import rule_for
from assay.analyse.rules.paper import printed_test
from assay.analyse.stopping import Operation, operation
from assay.errors import BadInput

SETTINGS = [(0.001, 1e-6), (0.01, 0.005), (0.05, 0.045), (0.1, 0.095), (0.2, 0.195)]
KEEPING = ("binomial", "confidence-sequence", "sprt")


def at(rule: Rule, rate: float) -> Operation:
    found = operation(rule.between, rate, rule.last)
    assert found.undecided == 0
    assert found.lost < 1e-9
    return found


def test_the_rules_that_there_are() -> None:
    assert tuple(rules.methods()) == (*KEEPING[:2], "paper", "sprt")
    assert [name for name, method in rules.methods().items() if not method.holds] == ["paper"]
    with pytest.raises(BadInput, match="did you mean 'sprt'"):
        rules.named("sprrt")


@pytest.mark.parametrize(("eps", "eps_inner"), SETTINGS)
@pytest.mark.parametrize("name", KEEPING)
def test_the_exact_errors_keep_the_promise(name: str, eps: float, eps_inner: float) -> None:
    rule = rule_for(name, Promise(eps, eps_inner))
    assert rule.holds
    inner = at(rule, eps_inner)
    assert inner.not_robust + inner.lost <= rule.promise.alpha
    outer = at(rule, eps)
    assert outer.robust + outer.lost <= rule.promise.beta
    assert at(rule, eps_inner / 2).not_robust <= inner.not_robust
    assert at(rule, 1.2 * eps).robust <= outer.robust


@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from(KEEPING),
    st.floats(0.02, 0.95),
    st.floats(0, 0.9),
    st.sampled_from([0.4, 0.05, 0.01]),
    st.sampled_from([0.4, 0.05, 0.01]),
)
def test_any_promise_is_kept(
    name: str, eps: float, share: float, alpha: float, beta: float
) -> None:
    rule = rule_for(name, Promise(eps, share * eps, alpha, beta))
    assert at(rule, share * eps).not_robust <= alpha
    assert at(rule, eps).robust <= beta


# Expected samples at eps', eps, 0 and .5 of a confidence sequence from a Beta(1/2, 1/2) mixture
# (FINDINGS section 2); benchmarks/decision_samples.py compares all settings.
FIGURES = {(0.01, 0.005): (5_372, 5_572, 810, 5), (0.1, 0.095): (77_286, 85_617, 77, 16)}


@pytest.mark.parametrize(("eps", "eps_inner"), FIGURES)
def test_the_usual_rule_takes_no_more_samples_than_the_figures(
    eps: float, eps_inner: float
) -> None:
    rule = rule_for("confidence-sequence", Promise(eps, eps_inner))
    taken = [at(rule, rate).samples for rate in (eps_inner, eps, 0, 0.5)]
    assert all(np.array(taken) <= FIGURES[eps, eps_inner])


@pytest.mark.parametrize(("eps", "eps_inner"), SETTINGS[1:])
def test_far_from_the_zone_it_takes_a_tenth_of_the_fixed_test(eps: float, eps_inner: float) -> None:
    promise = Promise(eps, eps_inner)
    rule = rule_for("confidence-sequence", promise)
    fixed = smallest_test(promise).samples
    assert at(rule, 0).samples <= fixed / 10
    assert at(rule, 0.5).samples <= fixed / 10


# The 0.999 quantile of the normal law, from tables.
Z = 3.0902323061678135


@pytest.mark.parametrize(
    ("setting", "samples", "kept", "type_two", "type_one"),
    [
        (SETTINGS[0], 8_991, 8_983, 0.457, 1.045e-24),
        (SETTINGS[1], 891, 884, 0.333, 0.0824),
        (SETTINGS[2], 3_127, 2_979, 0.262, 0.2486),
        (SETTINGS[3], 11_829, 10_677, 0.176, 0.1835),
        (SETTINGS[4], 38_379, 30_801, 0.107, 0.1116),
    ],
)
def test_the_papers_numbers_and_how_its_promise_fails(
    setting: tuple[float, float], samples: int, kept: int, type_two: float, type_one: float
) -> None:
    eps, eps_inner = setting
    assert inner_rate(eps) == pytest.approx(eps_inner)
    printed = printed_test(Promise(eps, eps_inner))
    assert printed.samples == samples
    assert printed.share == pytest.approx(eps * (1 - eps) * Z / samples**0.5 + 1 - eps, abs=1e-14)
    assert samples - printed.test.allowed == kept
    rule = rule_for("paper", Promise(eps, eps_inner))
    assert not rule.holds
    robust, not_robust = at(rule, eps).robust, at(rule, eps_inner).not_robust
    assert robust == pytest.approx(type_two, abs=5e-4)
    assert not_robust == pytest.approx(type_one, rel=5e-4, abs=0)
    assert robust == pytest.approx(printed.test.robust(eps))
    assert not_robust == pytest.approx(printed.test.not_robust(eps_inner))


PROMISE = Promise(0.1, 0.05, 0.01, 0.01)


def slow_run(rule: Rule, failed: NDArray[np.bool_]) -> tuple[int, int, Verdict | None]:
    """One sample at a time."""
    failures = 0
    for sample, one in enumerate(failed, start=1):
        failures += int(one)
        bounds = rule.between(sample - 1, sample)
        if bounds.at.size and failures >= bounds.reject_at[0]:
            return sample, failures, Verdict.NOT_ROBUST
        if bounds.at.size and failures <= bounds.accept_at[0]:
            return sample, failures, Verdict.ROBUST
    return len(failed), failures, None


@pytest.mark.parametrize("name", [*KEEPING, "paper"])
@settings(max_examples=15, deadline=None)
@given(
    st.integers(0, 2**32),
    st.sampled_from([0.0, 0.03, 0.07, 0.2, 1.0]),
    st.lists(st.integers(0, 400), max_size=6),
)
def test_where_it_stops_does_not_depend_on_the_batches(
    name: str, seed: int, rate: float, sizes: list[int]
) -> None:
    rule = rule_for(name, PROMISE)
    failed = np.random.default_rng(seed).random(sum(sizes)) < rate
    decision = Decision(rule)
    for batch in np.split(failed, np.cumsum(sizes)[:-1]) if sizes else []:
        before, soonest = decision.samples, decision.soonest()
        decision.feed(batch)
        assert decision.verdict is None or decision.samples >= before + soonest
    stopped = slow_run(rule, failed)
    assert (decision.samples, decision.failures, decision.verdict) == stopped


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32), st.floats(0, 0.3))
def test_verdict_and_interval_never_contradict_each_other(seed: int, rate: float) -> None:
    decision = Decision(rule_for("confidence-sequence", PROMISE))
    random = np.random.default_rng(seed)
    while decision.feed(random.random(max(decision.soonest(), 100)) < rate) is None:
        lower, upper = decision.interval()
        assert lower < PROMISE.eps_inner or upper > PROMISE.eps
    lower, upper = decision.interval()
    assert lower <= decision.failures / decision.samples <= upper
    if decision.verdict is Verdict.ROBUST:
        assert upper <= PROMISE.eps
    else:
        assert lower >= PROMISE.eps_inner
    assert decision.soonest() == 0
    stopped = decision.samples
    assert decision.feed(np.ones(5, dtype=bool)) is decision.verdict
    assert decision.samples == stopped


@pytest.mark.parametrize("name", ["sprt", "binomial", "paper"])
@settings(max_examples=20, deadline=None)
@given(st.floats(0.02, 0.9), st.floats(0, 0.9), st.sampled_from([0.4, 0.001]), st.booleans())
def test_intervals_beside_other_rules_leave_the_verdict_possible(
    name: str, eps: float, share: float, alpha: float, swapped: bool
) -> None:
    errors = (alpha, 0.5)[:: -1 if swapped else 1]
    rule = rule_for(name, Promise(eps, share * eps, *errors))
    bounds = rule.between(0, min(rule.last, 2000))
    sure = np.flatnonzero(bounds.accept_at >= 0)
    lower, _ = rule.sequence.interval(bounds.at[sure], bounds.accept_at[sure])
    assert np.all(lower < eps)
    broken = np.flatnonzero(bounds.reject_at <= bounds.at)
    _, upper = rule.sequence.interval(bounds.at[broken], bounds.reject_at[broken])
    assert np.all(upper > share * eps)


def test_the_last_sample_decides_whatever_happened() -> None:
    rule = rule_for("confidence-sequence", PROMISE)
    (end,) = {int(n) for n in rule.between(rule.last - 1, 10 * rule.last).at}
    bounds = rule.between(end - 1, end)
    assert end == rule.last
    assert bounds.accept_at[0] + 1 >= bounds.reject_at[0]


@pytest.mark.parametrize("name", KEEPING)
def test_an_inner_rate_of_zero_rejects_at_the_first_failure(name: str) -> None:
    rule = rule_for(name, Promise(0.01, 0.0))
    assert at(rule, 0).not_robust == 0
    assert at(rule, 0.01).robust <= 0.001
    decision = Decision(rule)
    assert decision.feed(np.arange(1000) == 50) is Verdict.NOT_ROBUST
    assert decision.samples == 51


@pytest.mark.parametrize(
    ("numbers", "named"),
    [
        ((0.0, 0.0), "eps = 0"),
        ((1.0, 0.5), "eps = 1"),
        ((float("nan"), 0.5), "eps = nan"),
        ((0.1, 0.1), "eps' = 0.1"),
        ((0.1, 0.2), "eps' = 0.2"),
        ((0.1, -0.1), "eps' = -0.1"),
        ((0.1, 0.09999999), "too near"),
        ((0.1, 0.05, 0.0, 0.1), "alpha = 0"),
        ((0.1, 0.05, 0.1, 1.0), "beta = 1"),
        ((0.1, 0.05, 0.5, 0.5), "alpha \\+ beta = 1"),
    ],
)
def test_promises_that_cannot_be_made_are_refused(numbers: tuple[float, ...], named: str) -> None:
    with pytest.raises(BadInput, match=named):
        Promise(*numbers)


def test_the_page_shows_what_the_benchmark_computes() -> None:
    page = (Path(__file__).parents[2] / "docs" / "sequential.md").read_text()
    for line in decision_samples.lines(Promise(0.01, 0.005)):
        assert "| " + " | ".join(decision_samples.cells(line)) + " |" in page
