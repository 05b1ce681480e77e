"""Decisions on models of known failure rate, whatever the batches."""

from __future__ import annotations

import numpy as np
import pytest
from known_rates import asked_with_rate

from assay.analyse.asked import around
from assay.analyse.decision import Verdict
from assay.analyse.model import callable_model
from assay.analyse.promise import Promise, inner_rate
from assay.analyse.rules import methods, rule_for
from assay.analyse.weakened.decide import decide, decide_all
from assay.errors import BadInput

PROMISE = Promise(0.05, 0.02, 0.001, 0.001)


@pytest.mark.parametrize("method", sorted(methods()))
@pytest.mark.parametrize(
    ("rate", "verdict"), [(0.0, Verdict.ROBUST), (0.003, Verdict.ROBUST), (0.3, Verdict.NOT_ROBUST)]
)
def test_clear_cases_are_decided_rightly(method: str, rate: float, verdict: Verdict) -> None:
    found = decide(asked_with_rate(rate), rule_for(method, PROMISE), seed=1)
    assert found.verdict is verdict
    assert 0 <= found.failures <= found.samples <= found.drawn


@pytest.mark.parametrize("rows", [1, 7, 100, 4096])
def test_the_sample_it_stops_at_does_not_depend_on_batches(rows: int) -> None:
    asked = asked_with_rate(0.035)
    expected = decide(asked, rule_for("confidence-sequence", PROMISE), seed=3)
    other = asked_with_rate(0.035)
    other.model.rows = other.model._most = rows
    found = decide(other, rule_for("confidence-sequence", PROMISE), seed=3)
    assert (found.verdict, found.samples, found.failures, found.interval) == (
        expected.verdict,
        expected.samples,
        expected.failures,
        expected.interval,
    )


def test_several_rates_at_once_are_decided_as_one_by_one() -> None:
    rules = [
        rule_for("confidence-sequence", Promise(eps, inner_rate(eps))) for eps in (0.01, 0.1, 0.3)
    ]
    together = decide_all(asked_with_rate(0.05), rules, seed=2)
    alone = [decide(asked_with_rate(0.05), rule, seed=2) for rule in rules]
    assert [(d.verdict, d.samples, d.failures) for d in together] == [
        (d.verdict, d.samples, d.failures) for d in alone
    ]


def test_a_budget_ends_it_without_a_verdict() -> None:
    found = decide(asked_with_rate(0.03), rule_for("confidence-sequence", PROMISE), budget=100)
    assert found.verdict is None
    assert found.samples == found.drawn == 100
    low, high = found.interval
    assert low <= 0.03 <= high
    with pytest.raises(BadInput, match="a budget of 0 samples decides nothing"):
        decide(asked_with_rate(0.03), rule_for("confidence-sequence", PROMISE), budget=0)


def test_no_more_samples_are_drawn_than_a_region_without_failures_needs() -> None:
    found = decide(asked_with_rate(0.0), rule_for("confidence-sequence", PROMISE))
    assert found.drawn == found.samples


def test_a_label_set_may_hold_more_than_the_truth() -> None:
    def scores(points: np.ndarray) -> np.ndarray:
        return np.stack([0 * points[:, 0], points[:, 0], 0 * points[:, 0] - 1], axis=1)

    model = callable_model(scores, (2,))
    rule = rule_for("confidence-sequence", PROMISE)
    narrow = around(model, np.zeros(2), (0,), 1.0, "inf")
    wide = around(model, np.zeros(2), (0, 1), 1.0, "inf")
    assert decide(narrow, rule).verdict is Verdict.NOT_ROBUST
    assert decide(wide, rule).verdict is Verdict.ROBUST


def test_errors_at_the_ends_of_the_zone_are_as_rare_as_promised() -> None:
    """200 runs at each end with errors of 5 %: more than 25 errors have probability 1e-5."""
    promise = Promise(0.2, 0.1, 0.05, 0.05)
    for method in ("confidence-sequence", "sprt", "binomial"):
        rule = rule_for(method, promise)
        wrong = [0, 0]
        for seed in range(200):
            at_eps = decide(asked_with_rate(0.2), rule, seed=seed)
            within = decide(asked_with_rate(0.1), rule, seed=seed)
            wrong[0] += at_eps.verdict is Verdict.ROBUST
            wrong[1] += within.verdict is Verdict.NOT_ROBUST
        assert max(wrong) <= 25, (method, wrong)
