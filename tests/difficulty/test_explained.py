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
    words = {n: word if kind == "timeout" else "proved" for n, kind in found.items()}
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
    assert (found.count("solved"), found.count("timeout"), found.count("left out")) == (11, 11, 2)
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
    assert f"timeouts here are: 4 {word}" in found.diagnosis.details


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
    assert document["verifiers"][0]["counts"] == {"solved": 3, "timeout": 3, "left out": 2}
    assert document["without_profile"] == ["broken"]
    assert document["trajectories"][0]["family"] == "bench"
