"""Spoiled claims about attention: none that is false or unproved may pass."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Any

import pytest
from ball_oracle import BALLS
from mutation_campaign import Outcomes, assert_none_is_empty, in_rounds, tally, total
from small_claims import Claimed, instances
from smooth_mutators import SPOILERS

KNOBS: dict[str, tuple[str, dict[str, Any]]] = {
    "softmax": (
        "softmax_attention",
        {"tokens": 2, "width": 2, "value": 2, "classes": 3, "epsilon": 0.02},
    ),
    "softmax-knife-edge": (
        "softmax_attention",
        {"tokens": 2, "width": 2, "value": 2, "classes": 3, "margin_slack": 1.000001},
    ),
    "transformer": (
        "softmax_attention",
        {"tokens": 2, "width": 2, "classes": 2, "heads": 2, "block": "transformer", "hidden": 3},
    ),
    "linear": (
        "linear_attention",
        {"tokens": 2, "width": 2, "value": 2, "classes": 3, "epsilon": 0.05},
    ),
    "linear-squared": (
        "linear_attention",
        {"tokens": 3, "width": 2, "value": 1, "classes": 2, "feature": "squared_relu"},
    ),
}


@cache
def base(name: str) -> tuple[Claimed, ...]:
    family, knobs = KNOBS[name]
    return tuple(Claimed.of(instance) for instance in instances(family, **knobs))


def outcomes_of(name: str, rounds: int) -> Outcomes:
    donors = (*base(name) * 3, *(claim for other in KNOBS for claim in base(other)))
    return tally(name, base(name), donors, in_rounds(SPOILERS, rounds), BALLS)


@pytest.mark.parametrize("name", KNOBS)
def test_the_originals_are_verified_and_true(name: str) -> None:
    assert BALLS.accepts_originals(base(name))


@pytest.mark.parametrize("name", KNOBS)
def test_no_wrong_mutant_passes(name: str) -> None:
    outcomes = outcomes_of(name, 10)
    assert_none_is_empty(outcomes, broken=20, false=40, harmless=3)


@pytest.mark.nightly
def test_hundreds_were_wrong_and_all_were_rejected() -> None:
    outcomes = sum((outcomes_of(name, 30) for name in KNOBS), Counter())
    assert total(outcomes, "false, rejected") >= 1000
