"""Bisection over radii: where it ends, what it divides, and what it says when rates fall again."""

from __future__ import annotations

import numpy as np
import pytest
from known_rates import failing_above, failing_in_a_shell

from assay.analyse.asked import Asked, around
from assay.analyse.promise import Promise, inner_rate
from assay.analyse.weakened.radius import Radius, Search, largest_radius
from assay.errors import BadInput

TENTH = Promise(0.1, inner_rate(0.1))


def threshold_at(radius: float) -> Asked:
    """Fails above 1: the rate is 0 up to radius 1, then (1 - 1 / r) / 2."""
    return around(failing_above(1.0), np.zeros(2), (0,), radius, "inf")


def shell_at(radius: float) -> Asked:
    """Fails with rate .1 / r for r >= .3, and (r - .2) / r in between: above 0.1 from r = .2222."""
    return around(failing_in_a_shell(0.2, 0.3), np.zeros(1), (0,), radius, "inf")


@pytest.fixture(scope="module")
def found() -> Radius:
    return largest_radius(threshold_at, Search(4.0, 0.02, TENTH, seed=5))


def test_the_radius_is_where_the_rate_reaches_eps(found: Radius) -> None:
    """(1 - 1 / r) / 2 = .1 at r = 1.25, and .095 at r = 1.2346."""
    assert found.turns_at is not None
    assert 1.2346 - 0.02 <= found.radius <= 1.25
    assert found.radius < found.turns_at <= found.radius + 0.02
    assert found.confirmed
    assert found.robust_above == ()


def test_both_errors_are_divided_over_all_decisions(found: Radius) -> None:
    search = found.search
    assert search.decisions == 1 + 8 + 1 + 4
    assert len(found.steps) <= search.decisions
    assert search.each.alpha * search.decisions == pytest.approx(TENTH.alpha)
    assert all(step.decided.rule.promise == search.each for step in found.steps)


def test_every_decision_has_random_inputs_of_its_own(found: Radius) -> None:
    again = [s for s in found.steps if s.radius == found.radius]
    assert {s.why for s in again} == {"search", "check"}
    assert len({(s.decided.samples, s.decided.failures) for s in again}) == 2


def test_it_says_when_a_larger_radius_is_robust_again() -> None:
    """FINDINGS: a shell [.2, .3] is robust, then not, then robust again from radius 1 on."""
    found = largest_radius(shell_at, Search(0.9, 0.01, TENTH, checks=(1.5, 5.0, 10.0), seed=0))
    assert 0.2 < found.radius < 0.2223
    assert found.robust_above
    assert all(radius > 1 for radius in found.robust_above)
    said = " ".join(found.sentences)
    assert "Not proved" in said
    assert "is robust again" in said


def test_a_search_may_end_at_either_end() -> None:
    everywhere = largest_radius(threshold_at, Search(0.9, 0.1, TENTH))
    assert (everywhere.radius, everywhere.turns_at) == (0.9, None)
    nowhere = largest_radius(lambda r: threshold_at(100 + r), Search(1.0, 0.25, TENTH))
    assert (nowhere.radius, nowhere.turns_at) == (0.0, 0.25)
    assert all(step.why == "search" for step in nowhere.steps)


def test_nothing_is_proved_by_the_papers_rule() -> None:
    found = largest_radius(threshold_at, Search(4.0, 0.5, TENTH, "paper"))
    assert [s for s in found.sentences if s.startswith("Nothing is proved")]


@pytest.mark.parametrize(
    ("upto", "precision", "words"),
    [(0.0, 0.1, "radius 0 is no place"), (1.0, 0.0, "precision 0"), (1.0, 2.0, "precision 2")],
)
def test_searches_without_sense_are_refused(upto: float, precision: float, words: str) -> None:
    with pytest.raises(BadInput, match=words):
        Search(upto, precision, TENTH)
