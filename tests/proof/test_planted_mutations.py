"""Spoiled claims about planted networks: no wrong answer, margin or probability may pass."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mutation_campaign import (
    assert_each_spoils,
    assert_none_is_empty,
    in_rounds,
    spoiled_again,
    tally,
)
from mutation_oracle import asked
from mutators import MUTATORS, SHARED, Mutant, Mutator, signed
from plane_oracle import PLANE, analysed
from small_claims import Claimed, instances

from assay.proof import reader, vnnlib
from assay.proof.arithmetic import Rejected, Unsupported
from assay.proof.claim import Claim
from assay.proof.violating_share import violating_share

SMALL = {"inputs": 2, "classes": 3, "neurons": 1, "dilution": 1, "height": 0.5}
CAPPED = {**SMALL, "charges": "capped", "dilution": 0}
KNOBS: dict[str, dict[str, Any]] = {
    "soft-box": {**SMALL, "kind": "soft_box"},
    "soft-box-lower": {**SMALL, "kind": "soft_box", "polarity": "lower", "placement": "corner"},
    "rotated": {**SMALL, "kind": "rotated_box", "placement": "face"},
    "simplex": {**SMALL, "kind": "simplex", "placement": "past_middle"},
    "tent": {**SMALL, "kind": "tent", "folds": 1, "dilution": 0},
    "pool": {**SMALL, "kind": "soft_box", "stem": "pool", "dilution": 0},
    "padded-pool": {**SMALL, "kind": "rotated_box", "stem": "padded_pool", "dilution": 0},
    "matmul": {**SMALL, "kind": "simplex", "stem": "matmul"},
    "tip": {**SMALL, "kind": "soft_box", "tip": True, "width": 0.3},
    "two": {**SMALL, "kind": "soft_box", "plants": 2, "width": 0.2},
    "two-alike": {**SMALL, "kind": "rotated_box", "plants": 2, "width": 0.2, "classes": 2},
    "capped": {**CAPPED, "kind": "soft_box"},
    "capped-rotated": {**CAPPED, "kind": "rotated_box"},
    "capped-simplex": {**CAPPED, "kind": "simplex"},
    "capped-two": {**CAPPED, "kind": "simplex", "plants": 2, "width": 0.2},
    "cnn": {**SMALL, "kind": "soft_box", "background": "cnn", "dilution": 0},
}
ROUNDS = 4


def probability_changed(claim: Claimed, draw: Random, _: Sequence[Claimed]) -> Mutant | None:
    """Another share, by a hair or by much, another form of it, or one where none belongs."""
    stated = claim.truth.get("violation_probability")
    exact = Fraction(stated["exact"]) if stated else Fraction(1, 7)
    hair = Fraction(draw.choice([-1, 1]), draw.choice([10**2, 10**9, 10**30, 10**300]))
    changed: list[tuple[object, bool]] = [
        ({"exact": str(exact + hair)}, True),
        ({"exact": str(exact * (1 + hair))}, True),
        ({"exact": str(1 - exact)}, True),
        ({"exact": "0"}, True),
        ({"exact": float(exact)}, True),
        ({"exact": str(exact), "lower": "0"}, True),
        ({}, True),
        ({"lower": str(exact)}, True),
        ({"lower": str(exact + abs(hair)), "upper": "1"}, True),
        ({"lower": "0", "upper": str(exact - abs(hair))}, True),
        ({"lower": "-1", "upper": "2"}, True),
        ({"lower": "0", "upper": "1"}, not stated),
        ({"lower": str(exact), "upper": str(exact)}, not stated),
    ]
    value, broken = draw.choice(changed)
    return Mutant(claim.stating(violation_probability=value), broken=broken)


def probability_left_out(claim: Claimed, _: Random, __: Sequence[Claimed]) -> Mutant | None:
    truth = dict(claim.truth)
    del truth["violation_probability"]
    return signed(Claimed(claim.onnx, claim.vnnlib, truth, claim.arrays))


def share_restated(claim: Claimed, draw: Random, others: Sequence[Claimed]) -> Mutant | None:
    """Another network, with the share that the checker finds for it: that must be its area."""
    kinds = ("weight_ulp", "weight_jump", "bias_ulp", "bias_jump", "bound_digit", "rows_exchanged")
    mutant = MUTATORS[draw.choice(kinds)](claim, draw, others)
    if mutant is None or claim.truth["answer"] == "robust":
        return None
    changed = mutant.claim
    try:
        low, high = violating_share(
            Claim(vnnlib.read(changed.vnnlib), reader.read(changed.onnx), None)
        )
    except (Rejected, Unsupported):
        return None
    assert low == high
    return signed(changed.stating(violation_probability={"exact": str(low)}))


OWN: dict[str, Mutator] = {
    "share_restated": share_restated,
    "probability_changed": probability_changed,
    "probability_left_out": probability_left_out,
}
SPOILERS = {**{kind: MUTATORS[kind] for kind in SHARED}, **OWN}
WEIGHTS = (
    "weight_ulp",
    "weight_jump",
    "bias_ulp",
    "bias_jump",
    "probability_changed",
    "share_restated",
)


@cache
def base(name: str) -> tuple[Claimed, ...]:
    return tuple(map(Claimed.of, instances("planted", **KNOBS[name])))


@cache
def donors() -> tuple[Claimed, ...]:
    return tuple(claim for name in KNOBS for claim in base(name))


@pytest.mark.parametrize("name", KNOBS)
def test_the_originals_are_verified_and_true(name: str) -> None:
    assert PLANE.accepts_originals(base(name))


@pytest.mark.parametrize("name", KNOBS)
def test_the_exact_area_is_the_claimed_probability(name: str) -> None:
    robust, violated = base(name)
    for claim in (robust, violated):
        question = asked(claim)
        assert question is not None
        least, share = analysed(question)
        if claim is robust:
            assert (least, share) == (Fraction(claim.truth["margin"]), 0)
        else:
            assert least == Fraction(claim.truth["margin"])
            assert claim.truth["violation_probability"] == {"exact": str(share)}


@pytest.mark.parametrize("name", KNOBS)
def test_no_wrong_mutant_passes(name: str) -> None:
    rounds = in_rounds(SPOILERS, ROUNDS, more=WEIGHTS)
    found = tally(name, base(name), donors(), rounds, PLANE)
    assert_none_is_empty(found, broken=10, false=10, harmless=2)
    assert_each_spoils(found, ("weight_jump", "bias_jump"))


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(sorted(KNOBS)),
    st.lists(st.sampled_from(sorted(SPOILERS)), min_size=1, max_size=2),
    st.integers(0, 2**32),
    st.booleans(),
)
def test_generated_mutants_and_mutants_of_mutants(
    name: str, kinds: list[str], seed: int, last: bool
) -> None:
    claim = base(name)[-1 if last else 0]
    PLANE.judge(spoiled_again(claim, kinds, SPOILERS, Random(seed), donors()))
