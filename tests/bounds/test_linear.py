from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from mixed_networks import MIXED, inside, random_boxes, relu_mlp, tensor_values
from operator_cases import CASES, Case, floats
from torch import Tensor

from assay.bounds.interval import enclosing_box, interval_bounds, output_bounds
from assay.bounds.linear import LinearNetwork, linear_margin_bounds
from assay.bounds.relaxed_network import Choice
from assay.bounds.rounding import Interval
from assay.errors import BadInput, Unsupported
from assay.question.exact import ExactFunction
from assay.question.graph import GraphBuilder, mlp
from assay.question.network import Network, load
from assay.question.region import Box
from assay.question.torch_view import torch_view


def directions(network: Network, count: int, seed: int = 0) -> Tensor:
    draw = torch.Generator().manual_seed(seed)
    return torch.randn(count, network.outputs, generator=draw, dtype=torch.float64)


def assert_below_samples(network: Network, lower: Tensor, upper: Tensor, steps: int) -> None:
    """Bounds are below sampled values, up to what float64 loses at the samples themselves."""
    wanted = directions(network, 4)
    bounds = linear_margin_bounds(network, lower, upper, wanted, steps=steps)
    points = inside(lower, upper, 300, seed=2)
    values = torch_view(network, torch.float64)(points.flatten(0, 1)) @ wanted.T
    values = values.reshape(len(lower), 300, -1)
    low, high = output_bounds(network, points.flatten(0, 1), points.flatten(0, 1))
    slack = ((high - low) @ wanted.abs().T).reshape(values.shape)
    slack = slack + 2.0**-46 * (1 + points.abs().amax()) * wanted.abs().sum(1)
    assert bounds.shape == (len(lower), 4)
    assert (bounds.unsqueeze(1) <= values + slack).all()


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.label)
def test_bounds_hold_for_every_operator(case: Case) -> None:
    network = load(case.onnx(), case.label)
    ends = torch.as_tensor(case.points(6), dtype=torch.float64)
    near = ends[:3] + (ends[3:] - ends[:3]) * torch.tensor([[1.0], [0.1], [0.0]])
    lower, upper = torch.minimum(ends[:3], near), torch.maximum(ends[:3], near)
    assert_below_samples(network, lower, upper, steps=0)


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.label)
def test_points_are_bounded_up_to_rounding(case: Case) -> None:
    network = load(case.onnx(), case.label)
    points = torch.as_tensor(case.points(3), dtype=torch.float64)
    wanted = directions(network, 2)
    bounds = linear_margin_bounds(network, points, points, wanted)
    values = torch_view(network, torch.float64)(points)
    loss = values @ wanted.T - bounds
    assert (loss <= 1e-10 * ((1 + values.abs()) @ wanted.abs().T)).all()


@pytest.mark.parametrize("build", MIXED)
@pytest.mark.parametrize("steps", [0, 4])
def test_bounds_hold_for_whole_networks(build: Callable[[int], Network], steps: int) -> None:
    for seed in range(2):
        network = build(seed)
        lower, upper = random_boxes(network, 5, seed)
        assert_below_samples(network, lower, upper, steps)


@pytest.mark.parametrize("build", MIXED)
def test_refined_ranges_hold_in_every_node(build: Callable[[int], Network]) -> None:
    network = build(5)
    engine = LinearNetwork(network)
    lower, upper = random_boxes(network, 5, 3)
    relaxed = engine.relaxed(engine.intervals.start(lower, upper), steps=2)
    points = inside(lower, upper, 1000, seed=4).flatten(0, 1)
    plain = interval_bounds(network, lower, upper)
    at_points = interval_bounds(network, points, points)
    compared = 0
    for name, values in tensor_values(network, points).items():
        x = relaxed.values[name]
        slack = at_points[name][1] - at_points[name][0] + 1e-14
        assert (x.low >= plain[name][0]).all()
        assert (x.high <= plain[name][1]).all()
        assert (values >= x.low.repeat_interleave(1000, dim=0) - slack).all(), name
        assert (values <= x.high.repeat_interleave(1000, dim=0) + slack).all(), name
        compared += values.numel()
    assert compared > 100_000


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([0.0, 1e-9, 1e-3, 0.3]))
def test_any_choice_is_sound_exactly(seed: int, radius: float) -> None:
    """Random slopes and multipliers keep the bound below exact values; so does optimisation."""
    network = relu_mlp(seed, (4, 6, 5, 3))
    rng = np.random.default_rng(seed)
    box = Box.around([Fraction(float(v)) for v in rng.uniform(-1, 1, 4)], Fraction(radius))
    engine = LinearNetwork(network)
    start = engine.intervals.start(*enclosing_box(box))
    relaxed = engine.relaxed(start)
    draw = torch.Generator().manual_seed(seed)

    def random(*shape: int) -> Tensor:
        return torch.rand(*shape, generator=draw, dtype=torch.float64)

    kinked = [link.node for link in relaxed.links if link.node.op_type == "Relu"]
    choice = Choice(
        {node.outputs[0]: random(1, 1, *network.shapes[node.outputs[0]]) for node in kinked},
        {node.inputs[0]: random(1, 1, *network.shapes[node.inputs[0]]) for node in kinked},
        {node.inputs[0]: random(1, 1, *network.shapes[node.inputs[0]]) for node in kinked},
    )
    wanted = directions(network, 1, seed)
    bounds = [
        relaxed.lower(relaxed.on_outputs(wanted.unsqueeze(0)), choice).bound.item(),
        linear_margin_bounds(network, *enclosing_box(box), wanted, steps=3).item(),
    ]
    function = ExactFunction(network)
    for _ in range(4):
        share = [Fraction(int(v), 8) for v in rng.integers(0, 9, 4)]
        point = [a + (b - a) * s for a, b, s in zip(box.lower, box.upper, share, strict=True)]
        pairs = zip(wanted[0].tolist(), function(point), strict=True)
        value = sum((Fraction(c) * y for c, y in pairs), start=Fraction(0))
        assert all(math.isinf(b) or Fraction(b) <= value for b in bounds)


def test_affine_networks_are_bounded_tightly() -> None:
    rng = np.random.default_rng(0)
    shapes = ((5, 4), (6, 5), (2, 6))
    weights = [rng.normal(size=shape).astype(np.float32) for shape in shapes]
    graph = GraphBuilder((1, 4))
    x = graph.input
    for weight in weights:
        x = graph.add(graph.gemm(x, weight), 0.25)
    network = load(graph.build(x), "affine")
    lower, upper = -torch.ones(1, 4), torch.ones(1, 4)
    matrix = np.linalg.multi_dot([w.astype(np.float64) for w in reversed(weights)])
    wanted = torch.eye(2, dtype=torch.float64)
    bounds = linear_margin_bounds(network, lower, upper, wanted)[0].numpy()
    centre = torch_view(network, torch.float64)(torch.zeros(1, 4, dtype=torch.float64))[0].numpy()
    np.testing.assert_allclose(bounds, centre - np.abs(matrix).sum(1), rtol=1e-12)


def test_linear_bounds_beat_intervals_and_ascent_beats_them() -> None:
    network = relu_mlp(3, (8, 20, 20, 4))
    lower, upper = -0.3 * torch.ones(1, 8), 0.3 * torch.ones(1, 8)
    wanted = torch.tensor([[1.0, -1.0, 0.0, 0.0]], dtype=torch.float64)
    low, high = output_bounds(network, lower, upper)
    plain = (low[:, 0] - high[:, 1]).item()
    first = linear_margin_bounds(network, lower, upper, wanted).item()
    better = linear_margin_bounds(network, lower, upper, wanted, steps=20).item()
    assert plain < first - 0.05 < better - 0.05


def test_operators_without_lines_fall_back_to_their_range() -> None:
    network = load(Case("Softmax", (1, 3)).onnx(), "softmax")
    box = (torch.zeros(1, 3), torch.ones(1, 3))
    bounds = linear_margin_bounds(network, *box, torch.eye(3, dtype=torch.float64))
    torch.testing.assert_close(bounds, output_bounds(network, *box)[0], rtol=0, atol=1e-12)


def test_an_unbounded_tensor_gives_no_bound() -> None:
    network = load(Case("Div", (1, 2), (floats(1, 1), "input")).onnx(), "div")
    box = (torch.tensor([[-1.0, 1.0]]), torch.tensor([[1.0, 2.0]]))
    bounds = linear_margin_bounds(network, *box, torch.ones(1, 2, dtype=torch.float64))
    assert bounds.item() == -math.inf


def test_ranges_assumed_of_a_tensor_enter_and_contradictions_empty_the_box() -> None:
    layers = [(np.eye(2, dtype=np.float32), np.zeros(2, np.float32))] * 2
    network = load(mlp(layers), "identity")
    engine = LinearNetwork(network)
    box = engine.intervals.start(-torch.ones(2, 2), torch.ones(2, 2))
    name = network.nodes[0].outputs[0]
    low = torch.tensor([[[0.5, 0.5]], [[2.0, 2.0]]], dtype=torch.float64)
    relaxed = engine.relaxed(box, {name: Interval(low, 3 + 0 * low)})
    functional = torch.ones(2, 1, 2, dtype=torch.float64)
    push = torch.ones(2, 1, 1, 2, dtype=torch.float64)
    choice = Choice({}, {name: push}, {name: 0 * push})
    bounds = relaxed.lower(relaxed.on_outputs(functional), choice).bound
    assert 1 - 1e-9 < bounds[0].item() <= 1
    assert bounds[1].item() == math.inf


def test_refusals() -> None:
    network = relu_mlp(0)
    box = (torch.zeros(1, 6), torch.ones(1, 6))
    with pytest.raises(BadInput, match=r"\[K, 4\] is needed"):
        linear_margin_bounds(network, *box, torch.ones(1, 3))
    unknown = load(Case("HardSwish", (1, 6), opset=14).onnx(), "net")
    with pytest.raises(Unsupported, match="Assay has no bounds for operator HardSwish yet"):
        linear_margin_bounds(unknown, *box, torch.ones(1, 6))
