"""The search finds the best rule of its grid, and shuffled outcomes are honest company."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from profiled_points import random_points

from assay.difficulty.clusters import Clusters
from assay.difficulty.components import NAMES
from assay.difficulty.rules import Clause, RuleSearch


def columns(seed: int, count: int) -> dict[str, np.ndarray]:
    points = random_points(np.random.default_rng(seed), count)
    return {name: np.array([p.values[name] for p in points]) for name in NAMES}


def plain_score(covered: np.ndarray, late: np.ndarray) -> float:
    if covered.all() or not covered.any():
        return 0.0
    return float(np.corrcoef(covered, late)[0, 1])


@pytest.mark.parametrize("clauses", [1, 2])
def test_the_best_of_the_grid_is_the_best_of_all_rules(clauses: int) -> None:
    """With few points every threshold is in the grid: a plain search over all finds no better."""
    values = columns(5, 9)
    late = np.random.default_rng(6).permutation(9) < 4
    best = 0.0
    for names in combinations(NAMES, clauses):
        for thresholds in product(*(np.unique(values[name]) for name in names)):
            for sides in product((True, False), repeat=clauses):
                parts = [
                    Clause(*clause).holds(values[clause[0]])
                    for clause in zip(names, sides, thresholds, strict=True)
                ]
                best = max(best, plain_score(np.logical_and.reduce(parts), late))
    search = RuleSearch(values, late)
    rules = search.ranked(clauses)
    assert search.grid_score(clauses) == pytest.approx(best)
    assert rules[0].score == pytest.approx(best)
    covered = search.holds(rules[0])
    assert plain_score(covered, late) == pytest.approx(best)
    assert (rules[0].unsolved, rules[0].solved) == (
        (covered & late).sum(),
        (covered & ~late).sum(),
    )


def test_thresholds_are_settled_between_any_two_values_and_are_round() -> None:
    values = columns(7, 300)
    late = (values["G_IBP"] > 2.5) & (values["U"] < 0.4)
    rule = RuleSearch(values, late).ranked(2)[0]
    assert rule.score == pytest.approx(1)
    loose, branching = rule.clauses
    assert (loose.component, loose.above) == ("G_IBP", True)
    assert (branching.component, branching.above) == ("U", False)
    assert loose.threshold == pytest.approx(2.5, rel=0.2)
    assert branching.threshold == pytest.approx(0.4, rel=0.05)
    assert len(f"{branching.threshold:g}") <= 5


def test_constant_components_are_left_out() -> None:
    values = {name: np.ones(6) for name in NAMES}
    late = np.arange(6) < 3
    assert RuleSearch(values, late).ranked(1) == []
    values["U"] = np.arange(6.0)
    assert [rule.clauses[0].component for rule in RuleSearch(values, late).ranked(1)] == ["U"]
    assert RuleSearch(values, late).ranked(2) == []


def free(count: int) -> Clusters:
    """Cases that each stand for themselves."""
    return Clusters(np.zeros(count, np.intp), np.arange(count))


def test_shuffles_within_a_rule_keep_what_it_explains() -> None:
    values = columns(8, 60)
    late = values["U"] > 0.5
    late[:3] = ~late[:3]
    search = RuleSearch(values, late)
    single = search.holds(search.ranked(1)[0])
    rng = np.random.default_rng(9)
    (kept,) = search.chances(free(60).shuffles(late, 99, rng, among=single), (1,))
    assert kept == 1
    assert search.chances(free(60).shuffles(late, 99, rng), (1,)) == [0.01]


def test_one_threshold_is_not_measured_against_pairs() -> None:
    """Six against six, perfectly apart: a single rule does it in 10 of 924 ways, pairs in many."""
    values = columns(3, 12)
    late = np.arange(12) < 6
    values["G_IBP"] = np.where(late, 100.0, 1.0) + np.arange(12)
    search = RuleSearch(values, late)
    singles, pairs = search.chances(free(12).shuffles(late, 999, np.random.default_rng(1)))
    assert singles == pytest.approx(10 / 924, abs=0.012)
    assert pairs > 0.05
    assert search.rules(2) > 20 * search.rules(1)


def test_chance_counts_the_real_outcome_too() -> None:
    values = columns(4, 8)
    late = np.arange(8) < 4
    search = RuleSearch(values, late)
    assert search.chances([]) == [1, 1]
    assert search.chances([np.stack([late, late, ~late & False])]) == [0.75, 0.75]
