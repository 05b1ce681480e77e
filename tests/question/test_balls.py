"""Ball arithmetic: the true value is inside, whatever the operator."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from flint import ctx
from operator_cases import CASES, Case

from assay.errors import BadInput, Unsupported
from assay.question.balls import enclose
from assay.question.exact import EXACT_OPERATORS, evaluate
from assay.question.graph import GraphBuilder
from assay.question.network import load
from assay.question.operators.ball import BALL_OPERATORS
from assay.question.runtime import FloatRunner

SUPPORTED = [case for case in CASES if case.op_type in BALL_OPERATORS and case.note != "tanh"]


@pytest.mark.parametrize("case", SUPPORTED, ids=lambda case: case.label)
def test_encloses_the_exact_value_and_agrees_with_onnx_runtime(case: Case) -> None:
    network = load(case.onnx(), case.label)
    point = case.points(1)[0]
    rational = [Fraction(float(v)) for v in point]
    bounds = enclose(network, rational, 128)
    measured = FloatRunner(network).run(point[np.newaxis])[0]
    for (low, high), value in zip(bounds, measured.tolist(), strict=True):
        assert low <= high
        assert high - low <= Fraction(1, 2**60) * max(1, abs(high))
        assert float(low) == pytest.approx(value, rel=2e-4, abs=2e-5)
    if case.op_type in EXACT_OPERATORS:
        for (low, high), value in zip(bounds, evaluate(network, rational), strict=True):
            assert low <= value <= high


def test_more_bits_give_nested_bounds() -> None:
    graph = GraphBuilder((1, 3))
    network = load(graph.build(graph.softmax(graph.tanh(graph.input))), "smooth")
    point = [Fraction(1, 3), Fraction(-2, 7), Fraction(5)]
    coarse, fine = enclose(network, point, 64), enclose(network, point, 512)
    for (low, high), (inner_low, inner_high) in zip(coarse, fine, strict=True):
        assert low <= inner_low <= inner_high <= high
        assert inner_high - inner_low < Fraction(1, 2**480)


def test_the_precision_of_others_is_left_alone() -> None:
    graph = GraphBuilder((1, 2))
    network = load(graph.build(graph.exp(graph.input)), "exp")
    before = ctx.prec
    enclose(network, [Fraction(0), Fraction(1)], 300)
    assert ctx.prec == before


def test_what_has_no_bound_is_refused() -> None:
    graph = GraphBuilder((1, 2))
    logarithm = load(Case("Log", (1, 2)).onnx(), "log")
    with pytest.raises(Unsupported, match="cannot bound"):
        enclose(logarithm, [Fraction(-1), Fraction(1)], 64)
    network = load(graph.build(graph.exp(graph.input)), "exp")
    with pytest.raises(BadInput, match="a point of 1 numbers"):
        enclose(network, [Fraction(0)], 64)
    with pytest.raises(Unsupported):
        enclose(network, [Fraction(10**9), Fraction(0)], 64)
