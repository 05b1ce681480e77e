"""An explanation is put together from outcomes, says what was counted, and fits into JSON."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from profiled_points import point, random_points, where

from assay.difficulty.components import NAMES
from assay.difficulty.explain import Outcomes, explained
from assay.difficulty.explanation import Explanation, Point
from assay.difficulty.explanation_document import to_document


def outcomes(name: str, points: list[Point], word: str = "timeout") -> Outcomes:
    """Times out on every other instance; the last one is not supported, the one before not run."""
    found = where(points, lambda p: points.index(p) % 2 == 0)
    words = {n: word if kind == "unsolved" else "proved" for n, kind in found.items()}
    last, unasked = points[-1].instance, points[-2].instance
    found[last], words[last] = "left out", "unsupported"
    del found[unasked], words[unasked]
    return Outcomes(name, found, dict.fromkeys(found, 1.5), words)


def some(count: int = 24) -> list[Point]:
    return random_points(np.random.default_rng(2), count)


def explain(points: list[Point], *runs: Outcomes, seed: int = 0) -> Explanation:
    return explained("bench", points, runs, ["broken"], seed=seed, resamples=99)


def test_every_point_has_an_outcome_and_only_two_kinds_count() -> None:
    points = some()
    (found,) = explain(points, outcomes("tool", points)).verifiers
    assert set(found.outcomes) == {p.instance for p in points}
    assert (found.count("solved"), found.count("unsolved"), found.count("left out")) == (11, 11, 2)
    assert [s.component for s in found.separations] == list(NAMES)
    assert all(s.low <= s.auc <= s.high for s in found.separations)
    assert all(np.array(m.counts).sum() == 22 for m in found.maps)
    assert found.diagnosis.details[-1] == "left out: 1 not run, 1 unsupported"
    assert points[-2].instance not in found.seconds


def test_numbers_do_not_depend_on_who_else_ran() -> None:
    points = some()
    alone = explain(points, outcomes("b", points))
    both = explain(points, outcomes("a", points), outcomes("b", points))
    assert both.verifiers[1] == alone.verifiers[0]
    other = explain(points, outcomes("b", points), seed=1)
    assert other.verifiers[0].separations != alone.verifiers[0].separations


def test_without_timeouts_nothing_is_compared() -> None:
    points = some(5)
    solved = where(points, lambda _: False)
    run = Outcomes("tool", solved, {}, dict.fromkeys(solved, "proved"))
    (found,) = explain(points, run).verifiers
    assert found.separations == ()
    assert found.diagnosis.sentence == "solved everything it was asked (5 instances)"


@pytest.mark.parametrize(
    ("word", "verb"), [("unknown", "gives up on"), ("out-of-memory", "runs out of memory on")]
)
def test_giving_up_is_not_called_timing_out(word: str, verb: str) -> None:
    points = some(4)
    late = where(points, lambda _: True)
    (found,) = explain(points, Outcomes("tool", late, {}, dict.fromkeys(late, word))).verifiers
    assert found.diagnosis.sentence.startswith(f"{verb} all 4")
    assert f"unsolved: 4 {word}" in found.diagnosis.details


def test_both_answers_are_counted() -> None:
    points = [replace(p, answer=("robust", "violated")[k < 6]) for k, p in enumerate(some(12))]
    (found,) = explain(points, outcomes("tool", points)).verifiers
    assert "it solved 2 of 4 robust and 3 of 6 violated instances" in found.diagnosis.details


def test_infinite_numbers_survive_json() -> None:
    points = [point(f"i{k}", G_IBP=math.inf if k > 4 else k) for k in range(8)]
    found = explain(points, outcomes("tool", points))
    document = json.loads(json.dumps(to_document(found), allow_nan=False))
    assert document["points"][-1]["values"]["G_IBP"] == "inf"
    assert document["verifiers"][0]["maps"][1]["y_edges"][-1] == "inf"
    assert document["verifiers"][0]["counts"] == {"solved": 3, "unsolved": 3, "left out": 2}
    assert document["without_profile"] == ["broken"]
    assert document["trajectories"][0]["family"] == "bench"


def in_families(sizes: list[int], threshold: float) -> tuple[list[Point], Outcomes]:
    """Each family has profiles of its own; what lies above a value of G_IBP is given up."""
    rng = np.random.default_rng(5)
    points = []
    for family, size in enumerate(sizes):
        for k in range(size):
            values = dict(zip(NAMES, rng.lognormal(size=len(NAMES)).tolist(), strict=True))
            values["G_IBP"] = float(k + 1)
            points.append(replace(point(f"f{family}-{k}", f"f{family}"), values=values))
    found = where(points, lambda p: p.values["G_IBP"] > threshold)
    words = {n: "unknown" if kind == "unsolved" else "proved" for n, kind in found.items()}
    return points, Outcomes("tool", found, {}, words)


@pytest.mark.parametrize(("sizes", "named"), [([12, 12], False), ([8] * 12, True)], ids=str)
def test_no_cause_is_named_whose_interval_holds_one_half(sizes: list[int], named: bool) -> None:
    """Two families give a rule that beats chance, but an interval that is about all families."""
    points, run = in_families(sizes, 4.5)
    (found,) = explained("bench", points, [run], seed=0, resamples=199).verifiers
    clear = {s.component for s in found.separations if not s.low <= 0.5 <= s.high}
    assert ("G_IBP" in clear) == named
    assert set(found.diagnosis.components) == ({"G_IBP"} if named else set())
    assert ("G_IBP is above" in found.diagnosis.sentence) == named
    assert found.diagnosis.sentence.startswith("gives up" if named else "no cause can be told")


def test_a_tool_that_never_falsifies_is_compared_on_what_it_can_prove() -> None:
    """The AUCs are about the instances that the sentence is about, so that both agree."""
    points = [replace(p, answer="robust") for p in some(40)]
    twins = [replace(p, instance=f"{p.instance}-v", answer="violated") for p in points]
    late = where(points, lambda p: p.values["G_IBP"] > 1) | where(twins, lambda _: True)
    words = {n: "unknown" if kind == "unsolved" else "proved" for n, kind in late.items()}
    (found,) = explain([*points, *twins], Outcomes("tool", late, {}, words)).verifiers
    assert found.diagnosis.components == ("G_IBP",)
    assert next(s for s in found.separations if s.component == "G_IBP").auc == 1.0
    assert "solves none of the 40 violated instances" in found.diagnosis.sentence


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("timeout", "timeout"), "times out where G_IBP is above 1 (10 of its 10 timeouts, "),
        (("unknown", "unknown"), "gives up where G_IBP is above 1 (10 of its 10 unknown answers, "),
        (
            ("timeout", "unknown"),
            "stays without an answer where G_IBP is above 1 (10 of its 10 unsolved instances, ",
        ),
    ],
)
def test_what_went_unsolved_is_called_by_its_name(words: tuple[str, str], sentence: str) -> None:
    points = some(30)
    late = where(points, lambda p: p.values["G_IBP"] > 1)
    said = {
        n: words[k % 2] if kind == "unsolved" else "proved"
        for k, (n, kind) in enumerate(sorted(late.items()))
    }
    (found,) = explain(points, Outcomes("tool", late, {}, said)).verifiers
    assert found.diagnosis.sentence.startswith(sentence), found.diagnosis.sentence
    assert {found.words[n] for n, kind in late.items() if kind == "unsolved"} == set(words)
