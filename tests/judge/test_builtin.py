"""Assay's own verifiers: never wrong, and useful on the families."""

from __future__ import annotations

from fractions import Fraction

import pytest
from small_instances import instance, question

from assay.bounds.interval import INTERVAL_OPERATORS
from assay.judge.builtin import attack, interval, linear, milp
from assay.judge.witness import classify
from assay.question.exact import READABLE_OPERATORS
from assay.question.operators.torch_module import TORCH_OPERATORS

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
