"""P-values of laws: small where the law is another, and never smaller than they say where it is."""

from __future__ import annotations

import numpy as np
import pytest
from planted_question import known_question

from assay.analyse.analysers import analysers
from assay.analyse.calibration.known import Effort
from assay.analyse.calibration.laws import (
    Floats,
    discrete_chance,
    independence_chances,
    least_of,
    repeat_chance,
    uniform_chance,
)
from assay.analyse.promise import Promise
from assay.analyse.rules import rule_for
from assay.analyse.stopping import operation, stops

DICE = np.random.default_rng(5)
NUMBERS: Floats = DICE.random(4_000)


class TestUniform:
    def test_p_values_are_not_too_small(self) -> None:
        """Of 400 honest draws no more have p <= x than x says, beyond what luck explains."""
        chances = np.array([uniform_chance(DICE.random(200)) for _ in range(400)])
        for level in (0.01, 0.1, 0.5):
            assert (chances <= level).mean() <= level + 4 * np.sqrt(level / 400)

    @pytest.mark.parametrize(
        "other",
        [NUMBERS**1.2, 0.97 * NUMBERS, 0.03 + 0.97 * NUMBERS, np.full(4_000, 0.5), NUMBERS / 2],
    )
    def test_other_laws_are_seen(self, other: Floats) -> None:
        assert uniform_chance(NUMBERS) > 1e-3
        assert uniform_chance(other) < 1e-10

    def test_slack_is_what_rounding_may_do(self) -> None:
        assert uniform_chance(0.97 * NUMBERS, slack=0.04) > 1e-3


@pytest.mark.parametrize("second", [lambda u: u, lambda u: 1 - u, lambda u: (u + 0.25) % 1])
def test_dependent_neighbours_are_seen(second: object) -> None:
    assert callable(second)
    other = DICE.random(4_000)
    assert least_of(list(independence_chances(np.stack([NUMBERS, other], 1)))) > 1e-3
    assert min(independence_chances(np.stack([NUMBERS, second(NUMBERS)], 1))) < 1e-10
    rows = np.empty((8_000, 1))
    rows[::2, 0], rows[1::2, 0] = NUMBERS, second(NUMBERS)
    assert min(independence_chances(rows)) < 1e-10


def test_repeated_and_mirrored_points_are_seen() -> None:
    points = DICE.random((4_000, 2))
    assert repeat_chance(points) == (0, 1.0)
    for again in (points[:5], 1 - points[:5]):
        repeats, chance = repeat_chance(np.concatenate([points, again]))
        assert repeats == 5
        assert chance < 1e-14


def test_discrete_laws() -> None:
    law = np.array([0.5, 0.3, 0.2])
    drawn = DICE.choice(3, 4_000, p=law)
    assert discrete_chance(drawn, law) > 1e-3
    assert discrete_chance(drawn, np.full(3, 1 / 3)) < 1e-10
    assert discrete_chance(np.array([3]), law) == 0


@pytest.mark.parametrize("method", ["sprt", "confidence-sequence"])
def test_the_places_where_a_rule_stops_add_up(method: str) -> None:
    rule = rule_for(method, Promise(0.1, 0.05, 0.01, 0.01))
    for rate in (0.05, 0.08, 0.1):
        found, whole = (
            stops(rule.between, rate, rule.last),
            operation(rule.between, rate, rule.last),
        )
        assert found.lost < 1e-9
        assert float((found.samples * found.mass).sum()) == pytest.approx(whole.samples)
        at = rule.between(0, rule.last)
        ends = at.accept_at[np.searchsorted(at.at, found.samples)]
        assert float(found.mass[found.failures <= ends].sum()) == pytest.approx(whole.robust)


def test_the_exact_error_of_the_interval_is_what_runs_show() -> None:
    """The interval beside the verdict, at the stop: dynamic programming against decisions."""
    known = known_question(kind="soft_box", inputs=2, width=0.3, neurons=2, dilution=0)
    rows = analysers()["decide-confidence-sequence"].measure(known, Effort(repeats=300))
    seen = [row for row in rows if row.event == "the interval at the stop misses p"]
    assert len(seen) == 2
    for found in seen:
        assert found.exact is not None
        assert found.promised == 0.02
        assert found.exact <= found.promised
        assert abs(found.errors - 300 * found.exact) < 5 * np.sqrt(300 * found.exact) + 1
