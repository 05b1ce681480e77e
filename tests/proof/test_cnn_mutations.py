"""Spoiled claims about convolutional networks: none that is false or unproved may pass."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from conv_mutators import ON_CONVOLUTIONS
from mutation_campaign import Outcomes, assert_each_spoils, assert_none_is_empty, in_rounds, tally
from mutation_oracle import EXACT
from mutators import MUTATORS
from small_claims import Claimed, instances

SMALL = {"size": 2, "classes": 3}
KNOBS: dict[str, tuple[str, dict[str, Any]]] = {
    "pairs": ("paired_bias", {**SMALL, "pairs": 2, "backbone": 1, "width": 2, "gamma": 1e-6}),
    "pairs-plain": ("paired_bias", {**SMALL, "pairs": 2, "backbone": 0, "gamma": 0.01}),
    "rows": (
        "contractive_cnn",
        {**SMALL, "mixing": "rows", "depth": 1, "channels": 2, "gamma": 1e-6, "front": 3.0},
    ),
    "hadamard": (
        "contractive_cnn",
        {**SMALL, "depth": 2, "channels": 2, "gamma": 1e-6, "epsilon": 0.1, "head": "linear"},
    ),
}
SPOILERS = {**MUTATORS, **ON_CONVOLUTIONS}
ROUNDS = 12


@cache
def base(name: str) -> tuple[Claimed, ...]:
    family, knobs = KNOBS[name]
    return tuple(Claimed.of(instance) for instance in instances(family, **knobs))


@cache
def outcomes_of(name: str) -> Outcomes:
    donors = (*base(name) * 2, *(claim for other in KNOBS for claim in base(other)))
    spoilers = in_rounds(SPOILERS, ROUNDS, more=ON_CONVOLUTIONS)
    return tally(name, base(name), donors, spoilers, EXACT)


@pytest.mark.parametrize("name", KNOBS)
def test_the_originals_are_verified_and_true(name: str) -> None:
    assert EXACT.accepts_originals(base(name))


@pytest.mark.parametrize("name", KNOBS)
def test_no_wrong_mutant_passes(name: str) -> None:
    outcomes = outcomes_of(name)
    assert_none_is_empty(outcomes, broken=20, false=50, harmless=5)
    assert_each_spoils(outcomes, ON_CONVOLUTIONS)
