"""Assay's own verifiers: never wrong, and useful on the families."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from small_instances import instance, question

from assay.bounds.interval import INTERVAL_OPERATORS
from assay.judge.builtin import attack, interval, linear, milp
from assay.judge.witness import classify
from assay.question.exact import READABLE_OPERATORS
from assay.question.graph import mlp
from assay.question.network import Network, load
from assay.question.operators.torch_module import TORCH_OPERATORS
from assay.question.property import Case, Inequality, Specification, Violation
from assay.question.region import Box

TOOLS = {"interval": interval, "linear": linear, "milp": milp, "attack": attack}


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("truth", ["robust", "violated"])
@pytest.mark.parametrize("setting", ["meap", "corners", "edge"])
def test_an_answer_agrees_with_the_truth(setting: str, truth: str, tool: str) -> None:
    network, specification = question(instance(setting, truth))
    answer = TOOLS[tool].answer(network, specification, 4.0)
    assert answer.verdict in (truth, "unknown")
    if answer.verdict == "violated":
        report = classify(network, specification, answer.witness)
        assert report.witness_class == "exact"


def test_linear_decides_where_intervals_do_not() -> None:
    for truth in ("robust", "violated"):
        network, specification = question(instance("meap", truth))
        assert linear.answer(network, specification, 20.0).verdict == truth
    network, specification = question(instance("meap", "robust"))
    assert interval.answer(network, specification, 1.0).verdict == "unknown"


def test_interval_proves_what_intervals_show() -> None:
    network, specification = question(instance("meap", "robust"))
    case = specification.cases[0]
    centre = tuple((a + b) / 2 for a, b in zip(case.box.lower, case.box.upper, strict=True))
    point = type(case.box)(centre, centre)
    alone = type(specification)((type(case)(point, case.violation),))
    assert interval.answer(network, alone, 1.0).verdict == "robust"
    assert all(isinstance(v, Fraction) for v in centre)


def test_all_views_take_the_same_operators() -> None:
    assert set(INTERVAL_OPERATORS) == READABLE_OPERATORS
    assert set(TORCH_OPERATORS) == READABLE_OPERATORS


def small_mlp(*layers: tuple[list[list[float]], list[float]]) -> Network:
    arrays = [(np.array(w, np.float32), np.array(b, np.float32)) for w, b in layers]
    return load(mlp(arrays), "small")


def asks(lower: list[Fraction], upper: list[Fraction], inequality: Inequality) -> Specification:
    violation = Violation(1, ((inequality,),))
    return Specification((Case(Box(tuple(lower), tuple(upper)), violation),))


AT_LEAST_HALF = Inequality(((0, Fraction(-1)),), Fraction(-1, 2))
TINY_AND_HUGE = {
    "tiny weight, huge box": (small_mlp(([[1e-10]], [0]), ([[1]], [0])), 10**10),
    "tiny weight, unstable": (small_mlp(([[1e-10]], [-0.25]), ([[1]], [0])), 10**10),
    "tiny, then huge": (small_mlp(([[1e-10]], [0]), ([[1e10]], [0])), 1),
    "huge, then tiny": (small_mlp(([[1e16]], [0]), ([[1e-16]], [0])), 1),
}


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("name", TINY_AND_HUGE)
def test_numbers_of_all_sizes_do_not_make_it_lie(name: str, tool: str) -> None:
    """At the upper end of the box the output is at least a half: all are violated."""
    network, upper = TINY_AND_HUGE[name]
    question_asked = asks([Fraction(0)], [Fraction(upper)], AT_LEAST_HALF)
    assert TOOLS[tool].answer(network, question_asked, 5.0).verdict in ("violated", "unknown")


@pytest.mark.parametrize("tool", ["interval", "linear", "attack", "milp"])
def test_boxes_beyond_float64(tool: str) -> None:
    network = small_mlp(([[1]], [0]), ([[1]], [0]))
    far = Fraction(10) ** 400
    violated = asks([-far], [far], Inequality(((0, Fraction(1)),), Fraction(5)))
    assert TOOLS[tool].answer(network, violated, 5.0).verdict in ("violated", "unknown")
    robust = asks([-far], [-far], AT_LEAST_HALF)
    assert TOOLS[tool].answer(network, robust, 5.0).verdict in ("robust", "unknown")
