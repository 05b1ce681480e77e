from __future__ import annotations

import numpy as np
import pytest
from operator_cases import CASES, Case, X, ints, weights

from assay.errors import BadInput
from assay.question.batching import BATCH_RULES, batched_model
from assay.question.graph import GraphBuilder
from assay.question.network import load
from assay.question.runtime import FloatRunner


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.label)
def test_many_points_give_what_single_points_give(case: Case) -> None:
    runner = FloatRunner(load(case.onnx(), case.label))
    points = case.points(5)
    together = runner.run(points)
    apart = np.concatenate([runner.run(point[np.newaxis]) for point in points])
    np.testing.assert_allclose(together, apart, rtol=1e-5, atol=1e-5)


def test_every_rule_lets_some_case_through() -> None:
    batched = {c.op_type for c in CASES if FloatRunner(load(c.onnx(), c.label)).batched}
    assert batched == set(BATCH_RULES)


@pytest.mark.parametrize(
    "case",
    [
        Case("Softmax", (1, 3), attributes={"axis": 0}),
        Case("ReduceSum", (1, 3), (X, ints(0))),
        Case("ReduceMean", (1, 3)),
        Case("Gather", (1, 3), (X, ints(0)), {"axis": 0}),
        Case("Concat", (1, 3), (X, X), {"axis": 0}),
        Case("Transpose", (1, 1), attributes={"perm": [1, 0]}),
        Case("Flatten", (1, 3), attributes={"axis": 0}),
        Case("Add", (1, 3), (X, weights(4, 1, 3))),
        Case("Add", (1, 3), (X, weights(1, 1, 3)), note="rank"),
        Case("MatMul", (1, 1), (X, X)),
        Case("Gemm", (1, 1), (X, weights(1, 3)), {"transA": 1}),
        Case("Slice", (1, 3), (X, ints(0), ints(1), ints(0))),
        Case("Squeeze", (1, 3)),
    ],
    ids=lambda c: c.label,
)
def test_graphs_that_mix_points_run_one_by_one(case: Case) -> None:
    assert batched_model(load(case.onnx(), case.label)) is None


def test_reshape_inside_a_batch() -> None:
    graph = GraphBuilder((1, 12))
    image = graph.reshape(graph.input, [1, 3, 2, 2])
    weight = graph.reshape(graph.relu(image), [-1, 12])
    network = load(graph.build(graph.gemm(weight, weights(2, 12))), "net")
    runner = FloatRunner(network)
    assert runner.batched
    points = np.random.default_rng(0).normal(size=(100, 12)).astype(np.float32)
    expected = np.maximum(points, 0) @ weights(2, 12).T
    np.testing.assert_allclose(runner.run(points), expected, rtol=1e-5, atol=1e-5)
    assert runner.run(points[:0]).shape == (0, 2)


def test_refuses_points_of_another_shape_or_type() -> None:
    runner = FloatRunner(load(Case("Relu", (1, 3)).onnx(), "net"))
    for points in (np.zeros((1, 2), np.float32), np.zeros(3, np.float32), np.zeros((1, 3))):
        with pytest.raises(BadInput, match=r"give float32 \[n, 3\]"):
            runner.run(points)


def test_what_onnx_runtime_refuses_is_bad_input() -> None:
    case = Case("Gather", (1, 3), (X, ints(7)), {"axis": 1})
    runner = FloatRunner(load(case.onnx(), "net"))
    with pytest.raises(BadInput, match="ONNX Runtime refuses it"):
        runner.run(np.zeros((1, 3), np.float32))
