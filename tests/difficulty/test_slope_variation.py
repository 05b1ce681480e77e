from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
from mixed_networks import MIXED, random_boxes
from operator_cases import CASES, Case
from slope_probes import of, propagated

from assay.bounds.interval import INTERVAL_OPERATORS, IntervalNetwork
from assay.bounds.operators.affine import AFFINE, is_affine
from assay.bounds.rounding import Interval
from assay.difficulty import slope_variation
from assay.difficulty.slope_variation import SLOPE_RULES, slope_variations, unstable
from assay.errors import BadInput, Unsupported
from assay.question.graph import GraphBuilder, mlp
from assay.question.network import Network, load


def test_every_operator_is_affine_or_has_a_rule() -> None:
    """The two that are affine in their first input alone are refused elsewhere by the bounds."""
    for op_type in INTERVAL_OPERATORS:
        if op_type in SLOPE_RULES:
            continue
        assert is_affine(op_type, [0]), op_type
        if op_type not in ("BatchNormalization", "Conv"):
            assert is_affine(op_type, range(5)), op_type
    assert set(SLOPE_RULES) <= set(INTERVAL_OPERATORS)


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.label)
def test_every_case_is_affine_or_has_variations(case: Case) -> None:
    network = load(case.onnx(), case.label)
    ends = torch.as_tensor(case.points(4), dtype=torch.float64)
    lower, upper = torch.minimum(ends[:2], ends[2:]), torch.maximum(ends[:2], ends[2:])
    engine, values = propagated(network, lower, upper)
    found = slope_variations(engine, values)
    moving = [i for i, operand in enumerate(case.inputs) if isinstance(operand, str)]
    affine = case.op_type in AFFINE and AFFINE[case.op_type].fits(frozenset(moving))
    assert set(found) == (set() if affine else {network.output_name})
    for name, omega in found.items():
        assert omega.shape == (2, *network.shapes[name])
        assert (omega >= 0).all()


@pytest.mark.parametrize("build", MIXED)
def test_variations_of_wider_boxes_are_larger(build: Callable[[int], Network]) -> None:
    network = build(1)
    lower, upper = random_boxes(network, 5, 1)
    middle = (lower[:1] + upper[:1]) / 2
    nested = [(middle - w, middle + w) for w in (0.0, 1e-3, 0.1, 1.0)]
    boxes = torch.cat([low for low, _ in nested]), torch.cat([high for _, high in nested])
    for omega in slope_variations(*propagated(network, *boxes)).values():
        assert not torch.isnan(omega).any()
        assert (omega[1:] >= omega[:-1] - 1e-9).all()


def test_a_relu_layer_by_hand() -> None:
    """Preactivations x + b of x in [-1, 1] and of x in [0, 1/2], stable where an end is zero."""
    biases = np.array([-2, -1, -0.25, 0, 0.75, 1, 2], np.float32)
    layers = [(np.ones((7, 1), np.float32), biases), (np.ones((2, 7), np.float32), biases[:2])]
    network = load(mlp(layers), "relu")
    values = IntervalNetwork(network)
    relu = next(node for node in network.nodes if node.op_type == "Relu")
    start = Interval(torch.tensor([[[-1.0]], [[0.0]]]), torch.tensor([[[1.0]], [[0.5]]]))
    inner = Interval(*(end.double() + torch.tensor(biases) for end in (start.low, start.high)))
    known = {network.input_name: start, relu.inputs[0]: inner}
    count, total = unstable(values, known, 0.01)
    assert (count.tolist(), total) == ([3, 1], 7)
    assert unstable(values, known, 1.0)[0].tolist() == [0, 0]


def test_units_of_all_nodes_count() -> None:
    """Three sigmoids, a product of two numbers and two ReLUs; nothing affine."""
    graph = GraphBuilder((1, 3))
    x = graph.sigmoid(graph.gemm(graph.input, 4 * np.eye(3, dtype=np.float32)))
    product_ = graph.mul(graph.slice(x, [0], [1], [1]), graph.slice(x, [1], [2], [1]))
    joined = graph.concat([product_, graph.slice(x, [2], [3], [1])], 1)
    network = load(graph.build(graph.relu(graph.sub(joined, 0.5))), "mixed")
    lower, upper = of([0, 0, -1]), of([1, 0.01, 1])
    count, total = unstable(*propagated(network, lower, upper), 0.1)
    # Unstable: sigmoids 0 and 2, the product (its first factor is wide), both ReLUs.
    assert (count.tolist(), total) == ([5], 6)
    assert int(unstable(*propagated(network, lower, lower), 0.1)[0]) == 0


def test_an_affine_network_has_no_nonlinear_coordinate() -> None:
    network = load(mlp([(np.eye(2, dtype=np.float32), np.zeros(2, np.float32))]), "affine")
    count, total = unstable(*propagated(network, of([0, 0]), of([1, 1])), 0.01)
    assert (count.tolist(), total) == ([0], 0)


def test_refusals(monkeypatch: pytest.MonkeyPatch) -> None:
    network = load(Case("Relu", (1, 2)).onnx(), "net.onnx")
    engine, values = propagated(network, of([0, 0]), of([1, 1]))
    with pytest.raises(BadInput, match="give tau at least 0"):
        unstable(engine, values, math.nan)
    rules = {name: rule for name, rule in SLOPE_RULES.items() if name != "Relu"}
    monkeypatch.setattr(slope_variation, "SLOPE_RULES", rules)
    message = "Assay has no rule of the unstable fraction for operator Relu yet"
    with pytest.raises(Unsupported, match=message):
        slope_variations(engine, values)
