"""Truths of drafts: proved by the checker or not at all, and never weaker than the original."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from wrong_tools import prover, tip

from assay.proof.checker import check, proven_margin
from assay.question import vnnlib
from assay.question.graph import GraphBuilder, mlp
from assay.question.property import Inequality, Violation
from assay.question.region import Box
from assay.shrink.draft import Draft
from assay.shrink.phase_proof import phase_proof
from assay.shrink.proving import Proved, Prover


def verified(found: Proved | None) -> str:
    assert found is not None
    made = found.instance
    verdict = check(made.onnx, made.vnnlib, made.truth.to_json().encode(), made.arrays)
    assert verdict.status == "verified", verdict.reason
    return str(verdict.answer)


def test_the_witness_moves_along_or_is_sought() -> None:
    assert verified(prover("violated").proved(tip())) == "violated"
    astray = replace(tip(), point=(Fraction(1),) * 3)
    found = prover("violated").proved(astray)
    assert verified(found) == "violated"
    assert found is not None
    assert found.draft.point != astray.point
    hidden = replace(tip(height=0.5), point=(Fraction(0),) * 3)
    assert prover("violated").proved(hidden) is None


def test_a_robust_truth_is_proved_by_a_tree_whatever_the_inequalities() -> None:
    low = tip(height=0.5)
    assert verified(prover("robust").proved(low)) == "robust"
    sums = Violation(4, ((Inequality(((1, Fraction(1)), (2, Fraction(-2))), Fraction(-3)),),))
    found = Prover("tip", "robust", "real", "meap").proved(low.with_violation(sums))
    assert verified(found) == "robust"
    arrays = phase_proof(low.with_violation(sums))
    question = low.with_violation(sums).vnnlib
    assert proven_margin(low.onnx, question, "relu_tree", arrays) > 0
    # Arithmetic in the property is beyond what the guard vouches for.
    assert prover("robust").proved(low.with_violation(sums)) is None
    assert prover("robust").proved(tip()) is None


@pytest.mark.parametrize("answer", ["robust", "violated"])
def test_a_network_without_hidden_layers_has_a_truth(answer: str) -> None:
    level = 2.0 if answer == "robust" else 0.5
    weight = np.array([[0.0], [1.0]], np.float32)
    onnx = mlp([(weight, np.array([level, 0], np.float32))])
    question = vnnlib.write(Box((Fraction(0),), (Fraction(1),)), Violation.misclassification(0, 2))
    draft = Draft(onnx, question.encode(), (Fraction(1),))
    assert verified(prover(answer).proved(draft)) == answer


def test_a_guard_is_not_given_up() -> None:
    """A margin that float32 cannot tell from zero is no step of a question that it could."""
    draft = tip()
    edge = replace(draft, point=(Fraction(1, 8), Fraction(0), Fraction(0)))
    violation = edge.case.violation
    assert violation.margin([Fraction(1), Fraction(0), Fraction(1), Fraction(0)]) == 0
    strict = prover("violated")
    found = strict.proved(edge)
    assert found is None or found.instance.truth.margin < 0
    loose = Prover("tip", "violated", "real", "witness")
    kept = loose.proved(edge)
    assert kept is not None
    assert kept.instance.truth.guard == "real"


def test_balls_prove_smooth_networks_violated() -> None:
    graph = GraphBuilder((1, 1))
    hidden = graph.sigmoid(graph.gemm(graph.input, np.ones((1, 1), np.float32)))
    scores = np.array([[0.0], [1.0]], np.float32)
    onnx = graph.build(graph.gemm(hidden, scores, np.array([0.25, 0], np.float32)))
    box = Box((Fraction(0),), (Fraction(1),))
    question = vnnlib.write(box, Violation.misclassification(0, 2)).encode()
    draft = Draft(onnx, question, (Fraction(1, 2),))
    assert verified(Prover("s", "violated", "real", "witness").proved(draft)) == "violated"
