"""A cause where there is one, seldom where there is none, and plain words where none is told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest
from profiled_points import point, random_points, where
from tier import sized

from assay.difficulty.components import NAMES
from assay.difficulty.diagnosis import diagnosis
from assay.difficulty.explanation import Diagnosis, Point
from assay.difficulty.rule_words import meaning, shown
from assay.difficulty.rules import RuleSearch


def diagnosed(
    points: Sequence[Point], outcomes: Mapping[str, str], permutations: int = 199, seed: int = 0
) -> Diagnosis:
    rng = np.random.default_rng(seed)
    return diagnosis(points, outcomes, permutations=permutations, rng=rng)


def random(count: int, seed: int = 1) -> list[Point]:
    return random_points(np.random.default_rng(seed), count)


def test_loose_bounds_not_branching() -> None:
    points = random(120)
    outcomes = where(points, lambda p: p.values["G_IBP"] > 2 and p.values["U"] < 0.5)
    found = diagnosed(points, outcomes)
    assert found.components == ("G_IBP", "U")
    assert found.sentence.startswith("times out where G_IBP is above 2 while U is below 0.5 (")
    late = sum(outcome == "unsolved" for outcome in outcomes.values())
    assert f"({late} of its {late} timeouts, 0 of {120 - late} solved): " in found.sentence
    assert "loose bounds, not many ambiguous units; what may help: a tighter relaxation" in (
        found.sentence
    )
    assert any("p = 0.005" in detail for detail in found.details)


def test_the_hard_end_is_named_first_whatever_its_place() -> None:
    points = random(120)
    outcomes = where(points, lambda p: p.values["M_min"] > 1 and p.values["G_IBP"] > 1)
    found = diagnosed(points, outcomes)
    assert found.sentence.startswith("times out where G_IBP is above 0.8 while M_min is above 1 (")
    assert ": loose bounds, not an answer close to a tie; what may help: a tighter relaxation" in (
        found.sentence
    )


def test_one_component_needs_no_second() -> None:
    points = random(60)
    outcomes = where(points, lambda p: p.values["M_min"] < 0.5)
    found = diagnosed(points, outcomes)
    assert found.components == ("M_min",)
    late = sum(outcome == "unsolved" for outcome in outcomes.values())
    assert found.sentence == (
        f"times out where M_min is below 0.5 ({late} of its {late} timeouts, 0 of {60 - late} "
        "solved): an answer close to a tie; what may help: exact bounds near the boundary"
    )


def test_timeouts_at_the_easy_end_have_a_cause_that_is_not_measured() -> None:
    points = random(60)
    found = diagnosed(points, where(points, lambda p: p.values["U"] < 0.4))
    assert found.components == ("U",)
    assert found.sentence.endswith("look for a cause that the profile does not measure")


def test_components_that_go_together_cannot_be_told_apart() -> None:
    points = [
        replace(p, values={**p.values, "d_eff": p.values["G_IBP"] ** 0.5}) for p in random(60)
    ]
    found = diagnosed(points, where(points, lambda p: p.values["G_IBP"] > 1))
    assert "cannot be told apart from d_eff here (rank correlation 1.00)" in found.sentence
    assert any(d.startswith("nearly as good: where d_eff is above 1 ") for d in found.details)


@pytest.mark.parametrize(
    ("late", "sentence"),
    [
        (0, "solved everything it was asked (9 instances)"),
        (9, "times out on all 9: the profile has nothing to compare"),
        (2, "too few timeouts (2) to say why"),
        (7, "too few solved instances (2, 7 timeouts) to say why"),
    ],
)
def test_nothing_to_compare(late: int, sentence: str) -> None:
    points = random(9)
    names = [p.instance for p in points[:late]]
    found = diagnosed(points, where(points, lambda p: p.instance in names))
    assert (found.sentence, found.components) == (sentence, ())


def test_no_result_and_no_difference() -> None:
    assert "no result to explain" in diagnosed(random(3), {}).sentence
    same = [point(f"i{k}") for k in range(8)]
    found = diagnosed(same, where(same, lambda p: p.instance < "i4"))
    assert found.sentence == "the profile is the same on all instances: it has nothing to compare"


def test_few_cases_do_not_make_a_cause_even_when_separated_perfectly() -> None:
    points = [point(f"i{k}", G_IBP=float(k)) for k in range(6)]
    found = diagnosed(points, where(points, lambda p: p.values["G_IBP"] > 2))
    assert found.components == ()
    assert found.sentence == (
        "no rule beats chance in telling its 3 timeouts from the 3 instances that it solved"
    )


def test_a_tool_that_only_proves_is_explained_on_what_it_can_prove() -> None:
    points = [replace(p, answer=("robust", "violated")[k % 2]) for k, p in enumerate(random(80))]
    outcomes = where(points, lambda p: p.answer == "violated" or p.values["G_IBP"] > 1)
    found = diagnosed(points, outcomes)
    assert found.components == ("G_IBP",)
    assert found.sentence.startswith(
        "solves none of the 40 violated instances, whatever their profile; on the other 40: times "
        "out where G_IBP is above 0.9 ("
    )
    assert "there they would show the answer" in found.details[-1]


@pytest.mark.parametrize(
    ("robust", "violated", "said"), [(4, 3, False), (12, 3, True), (6, 5, True), (5, 5, False)]
)
def test_an_answer_is_never_given_only_if_that_is_no_bad_luck(
    robust: int, violated: int, said: bool
) -> None:
    """Of the robust ones it solves all; of five, three: then none of five is bad luck."""
    points = [
        replace(p, answer="robust" if k < robust else "violated")
        for k, p in enumerate(random(robust + violated))
    ]
    lost = {p.instance for p in points[: 2 if robust == 5 else 0]}
    outcomes = where(points, lambda p: p.answer == "violated" or p.instance in lost)
    found = diagnosed(points, outcomes)
    assert found.sentence.startswith("solves none of the") == said


def test_a_threshold_at_zero_excludes_nothing() -> None:
    points = [
        replace(p, values={**p.values, "M_min": p.values["M_min"] * (1 if k % 3 else -1)})
        for k, p in enumerate(random(120))
    ]
    outcomes = where(points, lambda p: p.values["G_IBP"] > 1 and p.values["M_min"] > 0)
    found = diagnosed(points, outcomes)
    assert found.components == ("M_min", "G_IBP")
    assert " while M_min is above 0 (" in found.sentence
    assert ": loose bounds; what may help: a tighter relaxation" in found.sentence
    assert ", not " not in found.sentence


def test_a_threshold_that_nearly_all_pass_excludes_nothing() -> None:
    points = random(200)
    high = sorted(p.values["U"] for p in points)[190]
    outcomes = where(points, lambda p: p.values["G_IBP"] > 1 and p.values["U"] < high)
    (rule,) = RuleSearch(*_columns(points, outcomes)).ranked(2)[:1]
    assert {clause.component for clause in rule.clauses} == {"G_IBP", "U"}
    assert meaning(rule, _columns(points, outcomes)[0]).startswith(": loose bounds; what may")


def _columns(
    points: Sequence[Point], outcomes: Mapping[str, str]
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    values = {name: np.array([p.values[name] for p in points]) for name in NAMES}
    return values, np.array([outcomes[p.instance] == "unsolved" for p in points])


def test_a_negative_margin_is_a_violation_not_a_tie() -> None:
    points = [point(f"i{k:02}", M_min=12.0 - k) for k in range(24)]
    found = diagnosed(points, where(points, lambda p: p.values["M_min"] < -5.5))
    assert found.sentence.startswith("times out where M_min is below -5.5 (")
    assert "): samples already violate the property; what may help: a search for" in found.sentence
    proves_nothing = diagnosed(points, where(points, lambda p: p.values["M_min"] > 0.5))
    assert "close to a tie" not in proves_nothing.sentence
    found = diagnosed(points, where(points, lambda p: p.values["M_min"] > -0.5))
    assert "the easy end" in found.sentence
    signs = [point(f"i{k:02}", M_min=k - 11.5) for k in range(24)]
    found = diagnosed(signs, where(signs, lambda p: p.values["M_min"] > 0))
    assert "where M_min is above 0 (" in found.sentence
    assert "): no sample violates the property there; what may help: proofs" in found.sentence


def families(
    rng: np.random.Generator, sizes: Sequence[int], spread: float, *, one_family: bool = False
) -> list[Point]:
    """Families of instances with similar profiles; or networks, all of one family."""
    found = []
    for number, size in enumerate(sizes):
        centre = rng.normal(size=len(NAMES))
        for k in range(size):
            row = np.exp(centre + spread * rng.normal(size=len(NAMES)))
            values = dict(zip(NAMES, row.tolist(), strict=True))
            family, network = ("f", f"n{number}") if one_family else (f"f{number}", "")
            found.append(Point(f"{number}-{k}", family, values, {}, "robust", network))
    return found


def slow_families(points: Sequence[Point], rng: np.random.Generator) -> dict[str, str]:
    """Four clusters of ten time out, whatever their profile; one outcome in twenty is other."""
    clusters = sorted({(p.family, p.network) for p in points})
    slow = {clusters[k] for k in rng.permutation(len(clusters))[: max(1, len(clusters) * 4 // 10)]}
    return where(points, lambda p: ((p.family, p.network) in slow) != (rng.random() < 0.05))


@pytest.mark.parametrize(("one_family", "noun"), [(False, "families"), (True, "networks")])
def test_slow_families_are_no_cause(one_family: bool, noun: str) -> None:
    rng = np.random.default_rng(2)
    points = families(rng, [8] * 10, 0.15, one_family=one_family)
    found = diagnosed(points, slow_families(points, rng))
    assert found.components == ()
    assert found.sentence.startswith(
        f"no cause can be told: the instances come from 10 {noun}, too few to tell a cause of its "
    )
    assert any(d.startswith(f"shuffles that keep {noun} together: p = ") for d in found.details)


def test_a_cause_inside_few_families_is_found() -> None:
    points = families(np.random.default_rng(3), [20] * 3, 1.0)
    found = diagnosed(points, where(points, lambda p: p.values["G_IBP"] > 1))
    assert found.components == ("G_IBP",)
    assert "another trait" not in found.sentence
    assert any("inside families the AUC of G_IBP is 1.00" in detail for detail in found.details)
    assert any("shuffles that keep families together" in detail for detail in found.details)


def test_a_cause_between_families_is_doubted_in_the_sentence() -> None:
    """Twenty families, all or nothing: enough to see a rule, but it may be another trait."""
    points = families(np.random.default_rng(4), [3] * 20, 0.0)
    found = diagnosed(points, where(points, lambda p: p.values["G_IBP"] > 1))
    assert found.components == ("G_IBP",)
    assert found.sentence.endswith(
        "; but none of the families has both, so it may be another trait of theirs"
    )
    noisy = where(points, lambda p: (p.values["G_IBP"] > 1) != (p.instance in {"3-1", "8-0"}))
    found = diagnosed(points, noisy)
    assert "; but inside families G_IBP tells nothing (AUC 0.50): it may be" in found.sentence


def test_same_seed_same_words() -> None:
    points = random(50)
    outcomes = where(points, lambda p: p.values["A_tau"] > 0.8)
    assert diagnosed(points, outcomes) == diagnosed(points, outcomes)


def test_numbers_are_short_and_whole() -> None:
    assert [shown(x) for x in (2000.0, 0.2, 1e6, 1.23456789)] == [
        "2000",
        "0.2",
        "1e+06",
        "1.23456789",
    ]


def causes(
    runs: int, make: Callable[[np.random.Generator], tuple[list[Point], dict[str, str]]]
) -> Counter[tuple[str, ...]]:
    found: Counter[tuple[str, ...]] = Counter()
    for seed in range(runs):
        points, outcomes = make(np.random.default_rng(seed))
        found[diagnosed(points, outcomes, permutations=99, seed=seed).components] += 1
    return found


RUNS, WRONG = sized((30, 1 + 4), (200, 10 + 9))


@pytest.mark.slow
@pytest.mark.parametrize(("count", "late"), [(12, 4), (40, 12)])
def test_outcomes_without_a_cause_seldom_get_one(count: int, late: int) -> None:
    """At most 5 % of the runs, and 3 standard errors."""

    def by_chance(rng: np.random.Generator) -> tuple[list[Point], dict[str, str]]:
        points = random_points(rng, count)
        chosen = {points[k].instance for k in rng.permutation(count)[:late]}
        return points, where(points, lambda p: p.instance in chosen)

    assert RUNS - causes(RUNS, by_chance)[()] <= WRONG


@pytest.mark.slow
@pytest.mark.parametrize("one_family", [False, True])
@pytest.mark.parametrize("sizes", [[8] * 10, [20] * 3, [3, 4, 5, 6, 10, 12, 15, 20]], ids=str)
def test_slow_families_seldom_get_a_cause(sizes: list[int], one_family: bool) -> None:
    """As above; without clusters it would be nearly all."""

    def clustered(rng: np.random.Generator) -> tuple[list[Point], dict[str, str]]:
        points = families(rng, sizes, 0.15, one_family=one_family)
        return points, slow_families(points, rng)

    assert RUNS - causes(RUNS, clustered)[()] <= WRONG


@pytest.mark.slow
def test_planted_causes_are_found_in_spite_of_noise() -> None:
    """One outcome in twenty is the wrong way round; 60 instances show one cause, 90 two."""

    def planted(
        count: int, late: Callable[[Point], bool]
    ) -> Callable[[np.random.Generator], tuple[list[Point], dict[str, str]]]:
        def make(rng: np.random.Generator) -> tuple[list[Point], dict[str, str]]:
            points = random_points(rng, count)
            return points, where(points, lambda p: late(p) != (rng.random() < 0.05))

        return make

    runs, found = sized((10, 8), (40, 36))
    one = causes(runs, planted(60, lambda p: p.values["G_IBP"] > 10))
    assert one[("G_IBP",)] >= found
    two = causes(runs, planted(90, lambda p: p.values["G_IBP"] > 1 and p.values["U"] < 0.5))
    assert two[("G_IBP", "U")] >= found

    def inside(rng: np.random.Generator) -> tuple[list[Point], dict[str, str]]:
        points = families(rng, [8] * 10, 0.5)
        return points, where(points, lambda p: (p.values["G_IBP"] > 1) != (rng.random() < 0.05))

    assert causes(runs, inside)[("G_IBP",)] >= found


def test_a_component_that_is_blind_takes_no_part() -> None:
    points = random(60)
    outcomes = where(points, lambda p: p.values["A_tau"] == 0)
    assert diagnosed(points, outcomes).components == ("A_tau",)
    blind = [replace(p, blind=("A_tau",) if p.values["A_tau"] == 0 else ()) for p in points]
    found = diagnosed(blind, outcomes)
    assert "A_tau" not in found.components
    assert any("tau was too coarse for it on" in detail for detail in found.details)
