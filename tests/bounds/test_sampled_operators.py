"""10^5 sampled inputs an operator: every tensor of a network around it lies within its bounds.

The operator stands between affine layers; where it takes the network's input more than once, each
operand has a layer of its own in one network and all share one in another.
"""

from __future__ import annotations

import math

import numpy as np
import onnx
import pytest
import torch
from mixed_networks import drawn, random_boxes
from onnx import helper, numpy_helper
from operator_cases import CASES, Case, X, floats, ints, number, weights
from sampled_ranges import assert_samples_within
from tier import sized

from assay.bounds.interval import INTERVAL_OPERATORS
from assay.question.network import Network, load

POINTS = sized(20_000, 100_000)
_INPUTS = 4
_FARTHEST = 2.0
"""The largest input in the boxes of `random_boxes`."""
_POOL = {"kernel_shape": [3, 2], "strides": [2, 3], "pads": [1, 1, 2, 0]}

_MORE = (
    # Both operands move
    *(Case(op, (2, 3), (X, X), note="both") for op in ("Add", "Sub", "Max", "Min", "Sum", "Mean")),
    Case("Mul", (2, 3), (X, X), note="both"),
    Case("Div", (2, 3), (X, X), positive=True, note="both"),
    Case("Div", (2, 3), (X, weights(2, 1)), note="column"),
    Case("Gemm", (3, 3), (X, X), {"transA": 1, "transB": 1, "alpha": -0.5}, note="both"),
    Case("Gemm", (3, 3), (X, X, X), {"alpha": 0.75, "beta": -2.0}, note="all"),
    Case("Gemm", (3, 3), (weights(2, 3), X, floats(1)), {"transB": 1}, note="right"),
    Case("MatMul", (2, 3, 3), (X, X), note="both"),
    Case("MatMul", (3,), (X, X), note="dot"),
    # Windows that overlap unevenly, at the edge and beyond it
    Case("AveragePool", (1, 2, 5, 5), attributes=_POOL, note="uneven"),
    Case("AveragePool", (1, 2, 5, 5), attributes={**_POOL, "count_include_pad": 1}, note="framed"),
    Case("AveragePool", (1, 2, 7), attributes={"kernel_shape": [3], "strides": [2]}, note="line"),
    Case("MaxPool", (1, 2, 5, 5), attributes=_POOL, note="uneven"),
    # Forms
    Case("Elu", (1, 6), attributes={"alpha": 2.5}, note="steep"),
    Case("LeakyRelu", (1, 6), attributes={"alpha": 1.75}, note="steep"),
    Case("LeakyRelu", (1, 6), attributes={"alpha": -0.5}, note="down"),
    Case("PRelu", (1, 3), (X, floats(-0.5, 0.25, 1.5)), note="each"),
    Case("LogSoftmax", (2, 3), attributes={"axis": 0}, note="axis"),
    Case("LogSoftmax", (2, 3), opset=11, note="old"),
    *(Case("Pow", (1, 4), (X, number(n)), note=f"to {n}") for n in (0, 1, 2, 5)),
    Case("Pow", (1, 4), (X, ints(3)), note="cube"),
    Case("Slice", (2, 7), (X, ints(5), ints(0), ints(1), ints(-2)), note="steps"),
)


def around(case: Case, seed: int, *, apart: bool) -> Network:
    """The case behind one affine layer (or one an operand) of the input and before another."""
    rng = np.random.default_rng(seed)
    model = onnx.load_from_string(case.onnx())
    core = load(case.onnx(), case.label)
    under_test = next(node for node in model.graph.node if node.name == "under_test")
    nodes, constants = [], list(model.graph.initializer)

    def layer(source: str, target: str, shape: tuple[int, ...], fan_in: int) -> None:
        weight, bias = 2 * drawn(rng, math.prod(shape), fan_in), drawn(rng, math.prod(shape))
        if case.positive and source == X:
            bias = (np.abs(weight).sum(1) * _FARTHEST + 0.5).astype(np.float32)
        arrays = {"weight": weight, "bias": bias, "shape": ints(*shape)}
        constants.extend(numpy_helper.from_array(a, f"{target}_{k}") for k, a in arrays.items())
        inputs = [source, f"{target}_weight", f"{target}_bias"]
        nodes.append(helper.make_node("Gemm", inputs, [f"{target}_row"], transB=1))
        nodes.append(helper.make_node("Reshape", [f"{target}_row", f"{target}_shape"], [target]))

    for i, name in enumerate(under_test.input):
        if name == X:
            operand = f"operand_{i if apart else 0}"
            if not any(operand in node.output for node in nodes):
                layer(X, operand, case.shape, _INPUTS)
            under_test.input[i] = operand
    nodes.extend(model.graph.node)
    constants.append(numpy_helper.from_array(ints(1, core.outputs), "flat_shape"))
    nodes.append(helper.make_node("Reshape", [core.output_name, "flat_shape"], ["flat"]))
    layer("flat", "scores", (1, 3), core.outputs)
    graph = helper.make_graph(
        nodes,
        "around",
        [helper.make_tensor_value_info(X, onnx.TensorProto.FLOAT, (1, _INPUTS))],
        [helper.make_tensor_value_info("scores", onnx.TensorProto.FLOAT, (1, 3))],
        constants,
    )
    opsets = [helper.make_opsetid("", case.opset)]
    surrounded = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    return load(surrounded.SerializeToString(deterministic=True), f"{case.label}-{apart=}")


def networks(op_type: str) -> list[Network]:
    found = []
    for seed, case in enumerate(case for case in (*CASES, *_MORE) if case.op_type == op_type):
        found.append(around(case, seed, apart=False))
        if sum(isinstance(operand, str) for operand in case.inputs) > 1:
            found.append(around(case, seed, apart=True))
    return found


@pytest.mark.parametrize("op_type", sorted(INTERVAL_OPERATORS))
def test_samples_lie_within_all_bounds(op_type: str) -> None:
    specimens = networks(op_type)
    assert specimens, f"{op_type} has no case; add one to operator_cases.py"
    for seed, network in enumerate(specimens):
        assert any(node.op_type == op_type for node in network.nodes)
        lower, upper = random_boxes(network, 5, seed)
        assert float(torch.maximum(lower.abs(), upper.abs()).max()) <= _FARTHEST
        assert_samples_within(network, lower, upper, -(-POINTS // len(specimens)))
