"""Promises that are broken are contradicted; those that are kept hardly ever, over a whole run."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from assay.analyse.calibration.accusation import (
    LEVEL,
    MOST_TESTS,
    Accusation,
    accusations,
    blamed,
    fisher,
    poisson_binomial_tail,
)
from assay.analyse.calibration.measured import Measured
from assay.analyse.calibration.summary import summaries


def row(
    errors: int,
    runs: int,
    promised: float | None = 0.01,
    question: str = "q",
    exact: float | None = None,
    chance: float | None = None,
    setting: str = "s",
    analyser: str = "a",
) -> Measured:
    return Measured(
        analyser,
        question,
        "e",
        setting,
        promised,
        True,
        runs,
        errors,
        exact=exact,
        chance=chance,
    )


def verdict(*rows: Measured) -> str:
    (found,) = summaries(rows, {r.question: 0.1 for r in rows})
    return found.verdict


class TestGrounds:
    def test_an_exact_error_above_the_promise_needs_no_statistics(self) -> None:
        """The audit's SPRT: 'exact error = 0.0175' stood in the table beside `kept`."""
        wrong = row(0, 1, exact=0.0175)
        assert accusations([wrong]) == [Accusation("exact", (wrong,), 0.0)]
        assert verdict(wrong) == "BROKEN: exactly 0.0175, 1.75 times what is promised"
        assert accusations([row(0, 1, exact=0.01)]) == []

    def test_questions_that_show_nothing_alone_do_together(self) -> None:
        rows = [row(20, 1000, question=str(n)) for n in range(24)]
        assert not accusations(rows[:1])
        (found,) = accusations(rows)
        assert (found.ground, found.rows) == ("all questions", tuple(rows))
        assert "480 errors in 24,000 runs" in found.sentence
        assert "BROKEN" in verdict(*rows)

    def test_p_values_of_questions_are_combined(self) -> None:
        rows = [row(0, 100, 0.0, str(n), chance=0.01) for n in range(12)]
        assert not accusations(rows[:1])
        (found,) = accusations(rows)
        assert found.ground == "all questions"
        assert found.chance == pytest.approx(fisher([0.01] * 12))

    def test_settings_of_one_event_are_pooled_if_no_question_is_twice(self) -> None:
        rows = [row(15, 1000, question=str(n), setting=str(n % 2)) for n in range(24)]
        grounds = [(len(found.rows), found.ground) for found in accusations(rows)]
        assert grounds == [(24, "all questions")]
        # the same samples under two settings are no independent evidence
        assert not accusations([row(20, 1000, question="q", setting=str(n)) for n in range(12)])

    def test_a_setting_is_not_blamed_for_what_another_shows(self) -> None:
        bad = [row(900, 1000, question=str(n), setting="bad") for n in range(3)]
        good = [row(0, 1000, question=str(n), setting="good", exact=0.001) for n in range(3, 6)]
        found = accusations([*bad, *good])
        assert max(len(one.rows) for one in found) == 6
        assert set(blamed(found)) == {("a", "e", "bad")}
        slight = [row(15, 1000, question=str(n), setting=str(n % 2)) for n in range(24)]
        assert len(blamed(accusations(slight))) == 2

    def test_a_proof_may_not_fail_once(self) -> None:
        (found,) = accusations([row(1, 1, 0.0)])
        assert (found.ground, found.chance) == ("one question", 0.0)
        assert accusations([row(0, 1, 0.0)]) == []

    def test_what_promises_nothing_breaks_nothing(self) -> None:
        assert accusations([row(10, 10, None)]) == []
        assert verdict(row(10, 10, None)) == "no promise"


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([row(1, 100)], "not contradicted"),
        ([row(1, 100, exact=0.009)], "kept"),
        ([row(0, 1, 0.0)], "kept"),
        ([row(0, 100, 0.0, chance=0.2)], "not contradicted"),
        ([row(0, 100, 0.01, "1", exact=0.01), row(0, 100, 0.01, "2")], "not contradicted"),
    ],
)
def test_kept_is_said_only_where_nothing_is_left_to_chance(
    rows: list[Measured], words: str
) -> None:
    assert verdict(*rows) == words


class TestFalseAccusations:
    @given(runs=st.integers(1, 2000), promised=st.floats(1e-4, 0.5), tests=st.integers(1, 400))
    def test_one_test_accuses_a_kept_promise_with_its_share_of_the_level(
        self, runs: int, promised: float, tests: int
    ) -> None:
        """Exactly: the least number of errors that is accused, and its probability."""
        share = LEVEL / MOST_TESTS
        least = next(n for n in range(runs + 2) if binom.sf(n - 1, runs, promised) < share)
        assert binom.sf(least - 1, runs, promised) < share
        idle = [row(0, runs, promised, str(n), analyser=str(n)) for n in range(tests - 1)]
        for errors, accused in ((least, least <= runs), (least - 1, False)):
            found = accusations([row(max(0, min(errors, runs)), runs, promised), *idle])
            assert bool(found) == accused

    def test_more_tests_than_foreseen_share_the_same_level(self) -> None:
        rows = [row(0, 9, analyser=str(n)) for n in range(2 * MOST_TESTS)]
        share = LEVEL / (2 * MOST_TESTS)
        for chance, accused in ((0.9 * share, True), (1.1 * share, False)):
            assert bool(accusations([row(0, 9, 0.0, chance=chance), *rows[1:]])) == accused

    @given(
        st.lists(
            st.tuples(st.integers(1, 30), st.sampled_from([0.01, 0.1, 0.3])), min_size=1, max_size=6
        ),
        st.integers(0, 40),
    )
    def test_the_tail_of_all_questions_is_that_of_the_sum(
        self, parts: list[tuple[int, float]], errors: int
    ) -> None:
        law = np.ones(1)
        for runs, rate in parts:
            law = np.convolve(law, binom.pmf(np.arange(runs + 1), runs, rate))
        assert poisson_binomial_tail(errors, parts) == pytest.approx(law[errors:].sum(), abs=1e-12)

    def test_a_run_of_correct_analysers_is_accused_as_rarely_as_is_said(self) -> None:
        """Simulated at a level that can be seen: promises just kept, p-values just uniform."""
        level, runs, accused = 0.2, 400, 0
        dice = np.random.default_rng(0)
        for _ in range(runs):
            rows = [
                row(int(n), 60, 0.05, str(q), analyser=f"counts {a}")
                for a in range(3)
                for q, n in enumerate(dice.binomial(60, 0.05, 6))
            ]
            rows += [
                row(0, 60, 0.0, str(q), chance=float(p), analyser="law")
                for q, p in enumerate(dice.random(6))
            ]
            # the level is shared by MOST_TESTS; these few are given all of it
            tests = len(rows) + 4
            accused += bool(accusations(rows, level * MOST_TESTS / tests))
        assert binom.sf(accused - 1, runs, level) > 1e-6
        assert accused > 0
