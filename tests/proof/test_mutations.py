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
from mutation_campaign import Outcomes, assert_none_is_empty, in_rounds, spoiled_again, tally, total
from mutation_oracle import EXACT, guard_is_allowed
from mutators import MUTATORS, TRIVIAL
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


@cache
def outcomes_of(name: str) -> Outcomes:
    """Outcomes by answer and mutator over all mutants of one pair of claims."""
    spoilers = in_rounds(MUTATORS, ROUNDS, more=ON_TREES, times=5)
    return tally(name, base(name), donors(name), spoilers, EXACT)


@pytest.mark.parametrize("name", KNOBS)
def test_the_originals_are_verified_and_true(name: str) -> None:
    assert EXACT.accepts_originals(base(name))
    for claim in base(name):
        assert claim.truth["guard"] == "float32" or not guard_is_allowed(claim)


@pytest.mark.parametrize("name", KNOBS)
def test_no_wrong_mutant_passes(name: str) -> None:
    outcomes = outcomes_of(name)
    assert_none_is_empty(outcomes, broken=30, false=100, harmless=5)


@pytest.mark.nightly
def test_thousands_were_wrong_and_all_were_rejected() -> None:
    outcomes = sum((outcomes_of(name) for name in KNOBS), Counter())
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
    claim = base(name)[-1 if last else 0]
    EXACT.judge(spoiled_again(claim, kinds, MUTATORS, Random(seed), donors(name)))
