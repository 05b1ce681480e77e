"""A budget that can never say robust is refused, with the number that it takes, at once."""

from __future__ import annotations

import time

import numpy as np
import pytest

from assay.analyse.decision import Decision
from assay.analyse.promise import MOST_SAMPLES, Promise, inner_rate
from assay.analyse.rules import methods
from assay.analyse.weakened.within_budget import rule_within
from assay.errors import BadInput


def promise(eps: float) -> Promise:
    return Promise(eps, inner_rate(eps))


@pytest.mark.parametrize("method", ["confidence-sequence", "sprt", "binomial"])
def test_a_rate_that_no_budget_reaches_is_refused_at_once(method: str) -> None:
    begun = time.process_time()
    with pytest.raises(BadInput, match=r"that takes at least 6,907,[\d,]{9,} samples; raise"):
        rule_within(method, promise(1e-12), MOST_SAMPLES)
    assert time.process_time() - begun < 1


@pytest.mark.parametrize("method", sorted(methods()))
def test_the_number_named_is_the_first_that_suffices(method: str) -> None:
    with pytest.raises(BadInput, match="that takes at least") as refused:
        rule_within(method, promise(0.01), 1)
    words = str(refused.value).split("at least ")[1].split()[0]
    least = int(words.replace(",", ""))
    if method != "paper":  # below what any rule needs, that is what is named
        with pytest.raises(BadInput, match="that takes at least") as again:
            rule_within(method, promise(0.01), least)
        least = int(str(again.value).split("at least ")[1].split()[0].replace(",", ""))
    for budget, verdict in ((least, "robust"), (least - 1, None)):
        decision = Decision(rule_within(method, promise(0.01), 10**6))
        decision.feed(np.zeros(budget, bool))
        assert decision.verdict == verdict


def test_usual_budgets_suffice() -> None:
    for eps in (0.1, 0.01, 0.001, 1e-6):
        assert rule_within("confidence-sequence", promise(eps), MOST_SAMPLES).holds
