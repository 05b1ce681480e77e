"""Thousands of spoiled claims: none that is false or unproved may pass.

Whether a spoiled claim is still true is decided by `mutation_oracle`, which shares nothing with
the checker. `make test` prints the tally with -rP.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from random import Random
from typing import Any

import pytest
from array_mutators import ON_TREES
from hypothesis import given, settings
from hypothesis import strategies as st
from mutation_oracle import float32_agrees, guard_is_allowed, holds
from mutators import MUTATORS, TRIVIAL, Mutant
from small_claims import Claimed, instances

KNOBS: dict[str, tuple[str, dict[str, Any]]] = {
    "meap": ("meap", {"inputs": 1, "classes": 3, "pairs": 2, "instability": 20}),
    "meap-odd": ("meap", {"inputs": 2, "classes": 2, "pairs": 3, "instability": 50}),
    "corners": ("corners", {"inputs": 1, "classes": 3, "hinges": 3, "active": 1}),
    "corners-knife-edge": (
        "corners",
        {"inputs": 3, "classes": 3, "hinges": 4, "active": 3, "gamma": 1e-9},
    ),
    "constant_box-gates": (
        "constant_box",
        {"inputs": 6, "classes": 3, "depth": 1, "width": 3, "latent": 2, "gamma": 1e-9},
    ),
    "constant_box-hinges": (
        "constant_box",
        {"inputs": 6, "classes": 2, "depth": 1, "width": 3, "collapse": "hinges"},
    ),
    "exact_radius": (
        "exact_radius",
        {"inputs": 1, "classes": 3, "hidden": (5, 4), "fractions": (0.99,)},
    ),
    "exact_radius-knife-edge": (
        "exact_radius",
        {"inputs": 2, "classes": 3, "hidden": (5, 5), "fractions": (0.999999,)},
    ),
}
ROUNDS = 20
"""How often each mutator is tried on each claim; five times as often on a tree."""


@cache
def base(name: str) -> tuple[Claimed, ...]:
    family, knobs = KNOBS[name]
    return tuple(Claimed.of(instance) for instance in instances(family, **knobs))


@cache
def everything() -> tuple[Claimed, ...]:
    return tuple(claim for name in KNOBS for claim in base(name))


def donors(name: str) -> tuple[Claimed, ...]:
    """Claims to borrow from: mostly relatives, whose files fit, and some strangers."""
    family = KNOBS[name][0]
    related = [c for other in KNOBS if KNOBS[other][0] == family for c in base(other)]
    return (*base(name) * 2, *related, *everything())


def judge(mutant: Mutant) -> str:
    """What became of a mutant; an assertion fails if the checker let a wrong one pass."""
    verdict = mutant.claim.verdict()
    if verdict.status != "verified":
        if mutant.broken:
            return "broken, rejected"
        return "still true, rejected" if holds(mutant.claim) else "false, rejected"
    assert not mutant.broken, "a broken proof was verified"
    assert holds(mutant.claim), "a false claim was verified"
    if mutant.claim.truth["guard"] == "float32":
        assert float32_agrees(mutant.claim), "float32 contradicts a verified guard"
    return "still true, verified"


@cache
def tally(name: str) -> Counter[tuple[str, str, str]]:
    """Outcomes by answer and mutator over all mutants of one pair of claims."""
    found: Counter[tuple[str, str, str]] = Counter()
    for claim in base(name):
        for kind, spoil in MUTATORS.items():
            for number in range(ROUNDS * 5 if kind in ON_TREES else ROUNDS):
                draw = Random(f"{name}/{claim.truth['answer']}/{kind}/{number}")
                mutant = spoil(claim, draw, donors(name))
                if mutant is not None:
                    outcome = judge(mutant)
                    found[claim.truth["answer"], kind, outcome] += 1
    return found


def total(outcomes: Counter[tuple[str, str, str]], *wanted: str) -> int:
    return sum(n for key, n in outcomes.items() if set(wanted) <= set(key))


@pytest.mark.parametrize("name", KNOBS)
def test_the_originals_are_verified_and_true(name: str) -> None:
    assert {claim.truth["answer"] for claim in base(name)} == {"robust", "violated"}
    for claim in base(name):
        assert claim.verdict().status == "verified"
        assert holds(claim)
        if claim.truth["guard"] == "float32":
            assert float32_agrees(claim)
        else:
            assert not guard_is_allowed(claim)


@pytest.mark.parametrize("name", KNOBS)
def test_no_wrong_mutant_passes(name: str) -> None:
    outcomes = tally(name)
    for answer in ("robust", "violated"):
        # neither check is empty: proofs fail, truths change, and some harmless mutants pass
        assert total(outcomes, answer, "broken, rejected") >= 30
        assert total(outcomes, answer, "false, rejected") >= 100
        assert total(outcomes, answer, "still true, verified") >= 5


@pytest.mark.slow
def test_thousands_were_wrong_and_all_were_rejected() -> None:
    outcomes = sum((tally(name) for name in KNOBS), Counter())
    by_kind: dict[str, Counter[str]] = {}
    for (_, kind, outcome), count in outcomes.items():
        by_kind.setdefault(kind, Counter())[outcome] += count
    for kind, counts in sorted(by_kind.items()):
        print(f"{kind:24}", ", ".join(f"{n} {outcome}" for outcome, n in sorted(counts.items())))
    false, broken = (total(outcomes, f"{word}, rejected") for word in ("false", "broken"))
    trivial = sum(total(outcomes, kind, "broken, rejected") for kind in TRIVIAL)
    passed, cautious = (total(outcomes, f"still true, {word}") for word in ("verified", "rejected"))
    print(
        f"{false} false and {broken} with a broken proof ({trivial} of them trivially), all "
        f"rejected; {passed} harmless passed; {cautious} harmless, rejected"
    )
    assert set(by_kind) == set(MUTATORS)
    assert false + broken - trivial >= 2000
    assert false >= 1500


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(sorted(KNOBS)),
    st.lists(st.sampled_from(sorted(MUTATORS)), min_size=1, max_size=2),
    st.integers(0, 2**32),
    st.booleans(),
)
def test_generated_mutants_and_mutants_of_mutants(
    name: str, kinds: list[str], seed: int, last: bool
) -> None:
    mutant = Mutant(base(name)[-1 if last else 0])
    draw = Random(seed)
    for number, kind in enumerate(kinds):
        # what a guard may say of a claim that was changed before is not known
        if mutant.broken or (number and kind == "guard_raised"):
            break
        try:
            mutant = MUTATORS[kind](mutant.claim, draw, donors(name)) or mutant
        except (LookupError, ValueError, TypeError, AttributeError, AssertionError):
            break  # nothing is left that this one could spoil
    judge(mutant)
