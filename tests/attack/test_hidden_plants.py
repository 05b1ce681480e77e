"""What the battery makes of planted counterexamples, smooth networks among them."""

from __future__ import annotations

import pytest
from planted_questions import twins

from assay.attack.battery import Budget, Result, attacks, run


def found_by(kind: str, *names: str, answer: str = "violated", **knobs: object) -> list[str]:
    results = run(*twins("planted", kind=kind, **knobs)[answer], Budget(attacks=names), "cpu")
    return [result.attack for result in results if result.found is not None]


@pytest.mark.parametrize("kind", ["soft_box", "rotated_box", "simplex", "tent"])
def test_quiet_units_break_plants_that_the_gradient_does_not_see(kind: str) -> None:
    names = ("pgd-margin", "pgd-ce", "pgd-dlr", "corners", "quiet-units")
    assert found_by(kind, *names, inputs=12, width=0.15) == ["quiet-units"]


def test_a_wide_plant_is_found_by_random_points() -> None:
    assert "random" in found_by("soft_box", "random", inputs=3, width=0.3)


def test_a_large_lock_stays_shut() -> None:
    there = [name for name, attack in attacks().items() if not attack.missing()]
    assert found_by("xor_lock", *there, inputs=25, parities=26) == []


def test_smooth_backgrounds_are_validated_with_balls() -> None:
    question = twins("planted", kind="soft_box", inputs=8, background="sigmoid")
    (found,) = run(*question["violated"], Budget(attacks=("quiet-units",)), "cpu")
    assert isinstance(found, Result)
    assert found.found is not None
    (robust,) = run(*question["robust"], Budget(attacks=("quiet-units",)), "cpu")
    assert robust.found is None


@pytest.mark.parametrize(
    "knobs",
    [
        {"kind": "soft_box", "inputs": 16, "width": 0.1, "charges": "capped"},
        {"kind": "xor_lock", "inputs": 25, "parities": 26},
    ],
)
def test_quiet_units_spend_all_their_restarts_on_the_few_units_of_a_plant(
    knobs: dict[str, object],
) -> None:
    question = twins("planted", **knobs)["violated"]
    usual, doubled = (
        run(*question, Budget(strength, 0, ("quiet-units",)), "cpu")[0] for strength in (1, 2)
    )
    effort = attacks()["quiet-units"].effort
    assert usual.found is None
    assert usual.queries >= 0.9 * effort.restarts * 2 * effort.steps
    assert 1.8 < doubled.queries / usual.queries < 2.2
