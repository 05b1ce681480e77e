"""Spoiled claims about convolutional networks: none that is false or unproved may pass."""

from __future__ import annotations

from collections import Counter
from functools import cache
from random import Random
from typing import Any

import pytest
from conv_mutators import ON_CONVOLUTIONS
from mutation_oracle import float32_agrees, holds
from mutators import MUTATORS
from small_claims import Claimed, instances
from test_mutations import judge, total

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
def everything() -> tuple[Claimed, ...]:
    return tuple(claim for name in KNOBS for claim in base(name))


@cache
def tally(name: str) -> Counter[tuple[str, str, str]]:
    found: Counter[tuple[str, str, str]] = Counter()
    for claim in base(name):
        for kind, spoil in SPOILERS.items():
            for number in range(ROUNDS * (3 if kind in ON_CONVOLUTIONS else 1)):
                draw = Random(f"{name}/{claim.truth['answer']}/{kind}/{number}")
                mutant = spoil(claim, draw, (*base(name) * 2, *everything()))
                if mutant is not None:
                    found[claim.truth["answer"], kind, judge(mutant)] += 1
    return found


@pytest.mark.parametrize("name", KNOBS)
def test_the_originals_are_verified_and_true(name: str) -> None:
    assert {claim.truth["answer"] for claim in base(name)} == {"robust", "violated"}
    for claim in base(name):
        assert claim.verdict().status == "verified"
        assert holds(claim)
        if claim.truth["guard"] == "float32":
            assert float32_agrees(claim)


@pytest.mark.parametrize("name", KNOBS)
def test_no_wrong_mutant_passes(name: str) -> None:
    outcomes = tally(name)
    for answer in ("robust", "violated"):
        # neither check is empty: proofs fail, truths change, and some harmless mutants pass
        assert total(outcomes, answer, "broken, rejected") >= 20
        assert total(outcomes, answer, "false, rejected") >= 50
        assert total(outcomes, answer, "still true, verified") >= 5
    for kind in ON_CONVOLUTIONS:
        rejected = [total(outcomes, kind, f"{why}, rejected") for why in ("false", "still true")]
        assert sum(rejected) > 0, f"{kind} spoiled nothing"
