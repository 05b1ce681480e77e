"""The search: it ends at something minimal, whatever the number of jobs, and undoes what fails."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from wrong_tools import StubAsker, proved, prover, tip

from assay.proof.checker import check
from assay.shrink.draft import Draft
from assay.shrink.passes import PASSES
from assay.shrink.search import Budget, BudgetSpent, Search, ShrinkWatcher
from assay.shrink.size import measure, size


def searched(
    draft: Draft,
    answer: str,
    is_wrong: Callable[[Draft], bool],
    *,
    jobs: int = 1,
    budget: Budget | None = None,
) -> Search:
    wrong = "unsound" if answer == "violated" else "bogus"
    asker = StubAsker(is_wrong, wrong, jobs)  # type: ignore[arg-type]
    return Search(
        prover(answer),
        wrong,  # type: ignore[arg-type]
        asker,  # type: ignore[arg-type]
        budget or Budget(),
        ShrinkWatcher(),
        [proved(draft, answer)],
    )


def needs_two_disjuncts(draft: Draft) -> bool:
    return len(draft.case.violation.disjuncts) >= 2


@pytest.mark.parametrize("answer", ["violated", "robust"])
def test_a_tool_that_is_always_wrong_leaves_next_to_nothing(answer: str) -> None:
    draft = tip(height=2.0 if answer == "violated" else 0.5)
    search = searched(draft, answer, lambda _: True)
    search.run(PASSES)
    after = size(search.best.draft)
    assert (after.nodes, after.units, after.inputs, after.disjuncts) == (1, 0, 1, 1)
    assert after.weights <= 2
    instance = search.best.instance
    verdict = check(
        instance.onnx, instance.vnnlib, instance.truth.to_json().encode(), instance.arrays
    )
    assert verdict.status == "verified"
    assert verdict.answer == answer


def test_what_the_bug_needs_stays() -> None:
    search = searched(tip(), "violated", needs_two_disjuncts)
    search.run(PASSES)
    after = size(search.best.draft)
    assert (after.disjuncts, after.inputs, after.units) == (2, 1, 0)


def test_every_step_is_smaller_and_proved() -> None:
    search = searched(tip(), "violated", lambda d: size(d).units >= 3)
    search.run(PASSES)
    measures = [measure(step.draft) for step in search.trail]
    assert measures == sorted(measures, reverse=True)
    assert len(set(measures)) == len(measures)
    assert size(search.best.draft).units == 3
    for step in search.trail:
        assert step.instance.onnx == step.draft.onnx
        assert step.instance.truth.guard == "float32"


def test_the_number_of_jobs_changes_nothing() -> None:
    ends = set()
    for jobs in (1, 3):
        search = searched(tip(), "violated", needs_two_disjuncts, jobs=jobs)
        search.run(PASSES[:8])
        ends.add(search.best.draft.key)
    assert len(ends) == 1


@pytest.mark.parametrize("budget", [Budget(calls=5), Budget(seconds=0.0)])
def test_a_spent_budget_keeps_the_best_so_far(budget: Budget) -> None:
    search = searched(tip(), "violated", lambda _: True, budget=budget)
    with pytest.raises(BudgetSpent):
        search.run(PASSES)
    assert search.asker.calls <= 5
    assert measure(search.best.draft) <= measure(search.trail[0].draft)


def test_nothing_goes_where_the_tool_is_right_about_all_else() -> None:
    whole = tip(units=1)
    search = searched(whole, "violated", lambda d: d.key == whole.key)
    search.run(PASSES[:8])
    assert len(search.trail) == 1
