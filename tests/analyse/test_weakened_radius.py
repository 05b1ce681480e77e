"""Bisection over radii: where it ends, what it divides, and what it says when rates fall again."""

from __future__ import annotations

import numpy as np
import pytest
from known_rates import failing_above, failing_in_a_shell

from assay.analyse.asked import Asked, around
from assay.analyse.decision import Verdict
from assay.analyse.promise import Promise, inner_rate
from assay.analyse.rules import rule_for
from assay.analyse.weakened.decide import Decided
from assay.analyse.weakened.radius import Radius, Search, Step, largest_radius
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
    assert search.decisions == 1 + 8 + 1 + 6
    assert len(found.steps) <= search.decisions
    assert search.each.alpha * search.decisions == pytest.approx(TENTH.alpha)
    assert all(step.decided.rule.promise == search.each for step in found.steps)


def decided(robust: bool, samples: int, failures: int) -> Decided:
    rule = rule_for("confidence-sequence", TENTH)
    verdict = Verdict.ROBUST if robust else Verdict.NOT_ROBUST
    return Decided(rule, verdict, samples, failures, samples, 1.0, 1.0)


def test_rounding_adds_no_decision(monkeypatch: pytest.MonkeyPatch) -> None:
    """4.8 / 2^7 is .0375, and bisection leaves a bit more than that for many a radius."""
    monkeypatch.setattr(
        "assay.analyse.weakened.radius.decide",
        lambda robust, *_, **__: decided(robust, 10_000, 0),
    )
    for turn in np.linspace(0.001, 4.799, 300).tolist():

        def asked_at(radius: float, turn: float = turn) -> bool:
            return radius < turn

        found = largest_radius(asked_at, Search(4.8, 0.0375, TENTH))  # type: ignore[arg-type]
        assert len(found.steps) <= found.search.decisions
        assert found.turns_at is not None
        assert found.radius < turn <= found.turns_at <= found.radius + 0.0375 * (1 + 1e-9)


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
    assert found.falls
    assert "It does so here" in said


@pytest.mark.parametrize(("failures", "says"), [(975, "It may do so"), (5_000, "It does so")])
def test_only_intervals_prove_that_a_rate_falls(failures: int, says: str) -> None:
    """Between eps' and eps either verdict is right, so verdicts alone prove nothing."""
    steps = [
        Step(2.0, "search", decided(False, 10_000, failures)),
        Step(1.0, "search", decided(True, 10_000, 970)),
        Step(1.0, "check", decided(True, 10_000, 970)),
        Step(4.0, "check", decided(True, 10_000, 970)),
    ]
    found = Radius(1.0, 2.0, tuple(steps), Search(2.0, 1.0, TENTH))
    assert found.robust_above == (4.0,)
    assert f"{says} here: 4 is robust again." in list(found.sentences)


def test_it_says_which_radii_just_above_are_robust_as_well() -> None:
    """A coarse search ends below 1.25, where the rate is eps; some checks lie in between."""
    found = largest_radius(threshold_at, Search(100.0, 1.0, TENTH))
    assert found.radius == pytest.approx(0.78125)
    assert found.robust_above == ()
    assert "Robust as well: 0.859375, 0.976562, 1.17188." in list(found.sentences)


def test_it_says_when_a_smaller_radius_is_not_robust() -> None:
    """The largest radius is robust at once, with rate .1 / 1.5; at .3 a third of the ball fails."""
    found = largest_radius(shell_at, Search(1.5, 0.5, TENTH, checks=(0.2,), seed=0))
    assert found.radius == 1.5
    assert found.not_robust_below == (0.2 * 1.5,)
    assert "0.3 is not robust: it is not the first that turns" in " ".join(found.sentences)


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
    [
        (0.0, 0.1, "radius 0 is no place"),
        (1.0, 0.0, "precision 0"),
        (1.0, 2.0, "precision 2"),
        (1.0, 1e-300, "precision 1e-300"),
    ],
)
def test_searches_without_sense_are_refused(upto: float, precision: float, words: str) -> None:
    with pytest.raises(BadInput, match=words):
        Search(upto, precision, TENTH)
