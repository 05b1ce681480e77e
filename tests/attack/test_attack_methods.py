"""Every attack of the registry, whatever it does, keeps the same promises."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import torch
from planted_questions import Question, twins
from small_questions import affine, asked, box, positive

from assay.attack import battery
from assay.attack.battery import Budget, Result, run
from assay.attack.method import Attack, Effort
from assay.attack.target import Target
from assay.difficulty.margin import MarginFunction
from assay.question.point_evaluation import PointEvaluation
from assay.question.property import Inequality, Violation
from assay.question.region import Box

ATTACKS = sorted(battery.attacks())
EASY = affine([[1, 2, -1], [0, 1, 1]], [2.5, 4])
"""Least output -1.5, negative near one corner."""
QUICK = Effort(16, 20)


@pytest.fixture(params=ATTACKS)
def attack(request: pytest.FixtureRequest) -> Attack:
    found = battery.attacks()[request.param]
    if found.missing():
        pytest.skip(found.missing())
    return found


def result(attack: Attack, question: Question, seed: int = 0) -> Result:
    (found,) = run(*question, Budget(1, seed, (attack.name,)), "cpu")
    return found


def confirmed(question: Question, found: Result) -> None:
    """The point is in float32 numbers, in the box, and violates exactly."""
    assert found.found is not None
    network, specification = question
    point = found.found.point
    assert all(Fraction(float(np.float32(float(v)))) == v for v in point)
    (case,) = [c for c in specification.cases if c.box.contains(point)]
    margin = PointEvaluation(network, point).margin(case.violation)
    assert margin is not None
    assert margin[1] == found.found.margin <= 0


def test_says_what_it_is(attack: Attack) -> None:
    assert attack.name == attack.name.lower()
    assert attack.summary
    assert attack.effort.restarts >= 1
    page = (Path(__file__).parents[2] / "docs" / "attack.md").read_text()
    efforts = f"{attack.effort.restarts:,}"
    assert f"| `{attack.name}` | {efforts} |" in page


def test_finds_what_is_easy(attack: Attack) -> None:
    question = EASY, asked((box(3), positive(2)))
    if attack.name == "quiet-units":
        question = twins("planted", kind="soft_box", inputs=8)["violated"]
    found = result(attack, question)
    confirmed(question, found)
    assert found.queries > 0
    assert found.margin <= 0


def test_finds_nothing_on_robust_questions(attack: Attack) -> None:
    robust = twins("meap", pairs=2, inputs=3, classes=2, gamma=1.0)["robust"]
    found = result(attack, robust)
    assert found.found is None
    assert 0 < found.margin < math.inf


def test_conjunctions_cases_and_fixed_inputs(attack: Attack) -> None:
    """Both outputs at most 1/4, in the second box, one input fixed: the first box keeps it."""
    both = Violation(2, (tuple(Inequality(((i, Fraction(1)),), Fraction(1, 4)) for i in range(2)),))
    network = affine([[1, 0, 3], [-1, 1, 0]], [0, 0])
    safe = Box((Fraction(1), Fraction(2), Fraction(0)), (Fraction(2), Fraction(3), Fraction(0)))
    wide = Box((Fraction(-1), Fraction(-1), Fraction(0)), (Fraction(1), Fraction(1), Fraction(0)))
    only_safe = asked((safe, both))
    assert result(attack, (network, only_safe)).found is None
    question = network, asked((safe, both), (wide, both))
    found = result(attack, question)
    if attack.name != "quiet-units":  # there is no unit here
        confirmed(question, found)


def test_asks_only_inside_the_box(attack: Attack, monkeypatch: pytest.MonkeyPatch) -> None:
    network, specification = twins("planted", kind="simplex", inputs=6)["robust"]
    asked_points = []
    watch = Target._watch

    def spy(target: Target, points: torch.Tensor, outputs: torch.Tensor) -> None:
        asked_points.append(points.detach())
        watch(target, points, outputs)

    monkeypatch.setattr(Target, "_watch", spy)
    function = MarginFunction(network, specification.cases)
    target = Target(function, 0, 0, attack.name)
    attack.run(target, replace(QUICK))
    points = torch.cat(asked_points)
    assert len(points) == target.queries
    assert bool(((points >= target.lower) & (points <= target.upper)).all())


def test_same_seed_same_queries(attack: Attack) -> None:
    question = twins("planted", kind="rotated_box", inputs=5)["robust"]
    found = [replace(result(attack, question, seed), seconds=0) for seed in (3, 3, 4)]
    assert found[0] == found[1]
    assert found[0].queries == found[2].queries


def test_many_points_run_in_bounded_batches(attack: Attack) -> None:
    network, specification = twins("planted", kind="soft_box", inputs=5, width=0.05)["robust"]
    target = Target(MarginFunction(network, specification.cases), 0, 0, attack.name)
    target.at_once = 7
    attack.run(target, Effort(24, 3))
    assert target.queries > 0


@pytest.mark.parametrize("name", [n for n in ATTACKS if "gd" in n or n in ("fab", "quiet-units")])
def test_gradients_are_counted(name: str) -> None:
    attack = battery.attacks()[name]
    if attack.missing():
        pytest.skip(attack.missing())
    found = result(attack, twins("planted", kind="simplex", inputs=5)["robust"])
    assert found.gradients > 0
