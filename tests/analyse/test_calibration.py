"""Every analyser keeps what it promises on a known rate, and a promise that fails is noticed."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from planted_question import known_question
from scipy.stats import binom

from assay.analyse.analysers import analysers, chosen
from assay.analyse.analysers.decision_rules import Trap, traps
from assay.analyse.calibration.accusation import accusations
from assay.analyse.calibration.known import Effort, KnownQuestion
from assay.analyse.calibration.measured import Measured
from assay.analyse.calibration.summary import summaries
from assay.analyse.decision import Verdict
from assay.analyse.rules import methods
from assay.errors import BadInput

EFFORT = Effort(repeats=60, samples=600_000)
WIDE = {"kind": "soft_box", "inputs": 2, "width": 0.3, "neurons": 2, "dilution": 0}
UNLIKELY = 1e-6


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """As in the workers of the command: threads that wait for each other take ten times as long."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def question() -> KnownQuestion:
    return known_question(**WIDE)


@pytest.fixture(scope="module")
def overstated() -> KnownQuestion:
    """Said to fail four times as often as it does."""
    return known_question(claimed_times=4, **WIDE)


@pytest.mark.parametrize("name", analysers())
class TestEveryAnalyser:
    def test_measures_and_says_what_it_did(self, name: str, question: KnownQuestion) -> None:
        analyser = analysers()[name]
        assert analyser.name == name
        assert analyser.promise.strip() == analyser.promise != ""
        rows = analyser.measure(question, EFFORT)
        assert rows
        for row in rows:
            assert (row.analyser, row.question) == (name, "made")
            assert row.holds or not analyser.holds
            assert bool(row.runs) != bool(row.left_out)
            assert 0 <= row.errors <= row.runs
            assert row.event
            assert row.setting or row.left_out
        assert not [found for found in accusations(rows) if found.holds]

    def test_gives_the_same_again(self, name: str, question: KnownQuestion) -> None:
        again = known_question(**WIDE)
        analyser = analysers()[name]
        assert analyser.measure(again, EFFORT) == analyser.measure(question, EFFORT)

    def test_notices_that_the_truth_is_another(self, name: str, overstated: KnownQuestion) -> None:
        """What holds for the true rate is refuted for a rate that is not the true one."""
        analyser = analysers()[name]
        rows = analyser.measure(overstated, EFFORT)
        if analyser.answer == "decision":
            rows = [row for row in rows if row.event.startswith("says robust")]
        if analyser.holds:
            assert accusations(rows)


def test_every_decision_rule_is_an_analyser() -> None:
    assert {f"decide-{name}" for name in methods()} <= set(analysers())
    assert {analyser.answer for analyser in analysers().values()} == {
        "decision",
        "interval",
        "bounds",
        "estimate",
        "samples",
    }


def test_unknown_analysers_are_refused() -> None:
    with pytest.raises(BadInput, match="did you mean 'decide-sprt'"):
        chosen(["decide-sprd"])
    assert [a.name for a in chosen(["roma", "roma"])] == ["roma"]


class TestDecisions:
    def test_errors_are_those_that_dynamic_programming_computes(
        self, question: KnownQuestion
    ) -> None:
        """Sampler, network and rule together behave as a coin of the proven rate."""
        effort = Effort(repeats=300)
        for name in methods():
            for row in analysers()[f"decide-{name}"].measure(question, effort):
                if row.promised == 0:
                    continue
                exact, samples = row.exact, row.expected_samples
                assert exact is not None
                assert samples is not None
                assert row.samples is not None
                assert binom.cdf(row.errors, row.runs, exact) > UNLIKELY
                assert binom.sf(row.errors - 1, row.runs, exact) > UNLIKELY
                assert abs(row.samples - samples) < samples / 2
                if row.holds:
                    assert row.promised is not None
                    assert exact <= row.promised

    def test_the_printed_algorithm_fails_by_far(self, question: KnownQuestion) -> None:
        row, *_ = analysers()["decide-paper"].measure(question, Effort(repeats=200))
        assert {found.ground for found in accusations([row])} == {"exact", "one question"}
        (found,) = summaries([row], {"made": question.rate})
        assert row.rate is not None
        assert row.rate > 0.15
        assert "BROKEN" in found.verdict

    def test_the_promises_have_one_wrong_answer(self, question: KnownQuestion) -> None:
        lenient, strict = traps(question, EFFORT)
        assert isinstance(lenient, Trap)
        assert isinstance(strict, Trap)
        assert lenient.wrong is Verdict.ROBUST
        assert Fraction(lenient.promise.eps) <= question.lower
        assert strict.wrong is Verdict.NOT_ROBUST
        assert Fraction(strict.promise.eps_inner) >= question.upper

    def test_what_the_budget_does_not_pay_for_is_left_out(self, question: KnownQuestion) -> None:
        for row in analysers()["decide-sprt"].measure(question, Effort(samples=100)):
            assert (row.runs, row.rate, row.interval) == (0, None, None)
            assert "samples do not pay for" in row.left_out
        assert summaries([row], {"made": question.rate}) == []

    def test_a_rate_above_one_half_has_one_promise_only(self) -> None:
        lenient, strict = traps(known_like(Fraction(3, 5)), EFFORT)
        assert isinstance(lenient, Trap)
        assert strict == "2 p is no failure rate: there is no eps to promise"


def test_roma_believes_in_a_law_that_a_pocket_breaks() -> None:
    knobs = {"inputs": 10, "gamma": 200, "lead": 0.1, "classes": 3, "neurons": 24, "dilution": 0}
    pocket = known_question(1, kind="tent", folds=1, width=0.3, height=8, **knobs)
    row, counted = analysers()["roma"].measure(pocket, Effort(repeats=20))
    assert (counted.promised, counted.errors, counted.holds) == (0.01, 0, True)
    assert row.errors > 10
    assert row.figures["counted interval misses"] == 0
    claim = row.figures["median claim / p"]
    assert claim is not None
    assert claim < 1e-6


def test_streams_do_not_depend_on_how_they_are_asked_for(question: KnownQuestion) -> None:
    whole = known_question(**WIDE).record(3).first(5000)
    record = known_question(**WIDE).record(3)
    parts = [record.first(n) for n in (1, 0, 64, 1000, 5000)]
    assert np.array_equal(parts[-1], whole)
    assert np.array_equal(parts[2], whole[:64])
    assert not np.array_equal(question.record(4).first(5000), whole)


@pytest.mark.parametrize(
    ("samples", "expected", "words"),
    [
        ((None, None), None, "none"),
        ((1000.0, 1000.0), None, "1,000"),
        ((100.0, 300.0), None, "200 (median)"),
        ((100.0, 1200.0), 1000.0, "65/p (exact 100/p)"),
        ((100.0,), 200.0, "10/p (exact 20/p)"),
    ],
)
def test_samples_are_told_in_a_few_words(
    samples: tuple[float | None, ...], expected: float | None, words: str
) -> None:
    rates = {"0": 0.1, "1": 0.1}
    rows = [
        Measured("a", str(n), "e", "s", 0.01, True, 9, 0, taken, None, expected)
        for n, taken in enumerate(samples)
    ]
    (found,) = summaries(rows, rates)
    assert found.samples == words


class TestRates:
    @given(st.fractions(0, 1).filter(lambda f: 1e-9 < f < 1))
    def test_floats_enclose_a_rate(self, rate: Fraction) -> None:
        known = known_like(rate)
        assert Fraction(known.at_most) <= rate <= Fraction(known.at_least)
        assert known.at_least <= math.nextafter(known.at_most, 1)
        assert not known.misses(known.at_most, known.at_least)
        assert known.misses(0.0, math.nextafter(known.at_most, 0))
        assert known.misses(math.nextafter(known.at_least, 1), 1.0)

    @pytest.mark.parametrize("ends", [(0, 0), (0, Fraction(1, 2)), (1, 1), (Fraction(2, 3), 0)])
    def test_certain_outcomes_are_no_rates(self, ends: tuple[Fraction, Fraction]) -> None:
        with pytest.raises(BadInput, match="above 0 and below 1"):
            known_like(*ends)


@pytest.mark.parametrize("wrong", [{"repeats": 0}, {"samples": 0}, {"error": 0.5}, {"error": 0}])
def test_efforts_that_measure_nothing_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(BadInput):
        Effort(**wrong)  # type: ignore[arg-type]


_MADE = known_question(**WIDE)


def known_like(lower: Fraction, upper: Fraction | None = None) -> KnownQuestion:
    high = lower if upper is None else upper
    return KnownQuestion("r", "k", _MADE.network, _MADE.case, Fraction(lower), Fraction(high))
