"""Slope variations against derivatives that torch finds by differentiation at many points."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from mixed_networks import MIXED, random_boxes
from operator_cases import CASES, Case, X, floats, number
from torch import Tensor

from assay.bounds.interval import INTERVAL_OPERATORS, IntervalNetwork
from assay.bounds.operators.affine import AFFINE, is_affine
from assay.bounds.rounding import Interval
from assay.difficulty import slope_variation
from assay.difficulty.slope_variation import SLOPE_RULES, slope_variations, unstable
from assay.errors import BadInput, Unsupported
from assay.question.graph import GraphBuilder, mlp
from assay.question.network import Network, load
from assay.question.torch_view import torch_view

Box = tuple[Tensor, Tensor]


def of(values: Sequence[float]) -> Tensor:
    return torch.tensor([list(values)], dtype=torch.float64)


def propagated(network: Network, lower: Tensor, upper: Tensor) -> tuple[IntervalNetwork, dict]:
    engine = IntervalNetwork(network)
    return engine, engine.propagate(engine.start(lower, upper))


def varied(network: Network, lower: Tensor, upper: Tensor) -> Tensor:
    """The slope variations of the last nonlinear node."""
    found = slope_variations(*propagated(network, lower, upper))
    return found[list(found)[-1]]


def derivatives(network: Network, points: Tensor) -> Tensor:
    """[N, outputs, inputs] by differentiation."""
    function = torch_view(network, torch.float64)
    jacobian: Tensor = torch.func.vmap(
        torch.func.jacrev(lambda x: function(x.unsqueeze(0)).flatten())
    )(points)
    return jacobian


# Functions of one number

_SMOOTH = ("Cos", "Erf", "Exp", "Sigmoid", "Sin", "Softplus", "Tanh")
_CURVES: Mapping[str, Case] = {
    **{op: Case(op, (1, 1)) for op in (*_SMOOTH, "Abs", "Log", "Reciprocal", "Relu", "Sqrt")},
    "Clip": Case("Clip", (1, 1), (X, number(-1), number(1.5))),
    "Clip crossed": Case("Clip", (1, 1), (X, number(1), number(-1))),
    "Clip one side": Case("Clip", (1, 1), (X, None, number(0.25))),
    "Clip old": Case("Clip", (1, 1), attributes={"min": -0.5, "max": 0.75}, opset=9),
    "Elu": Case("Elu", (1, 1)),
    "Elu steep": Case("Elu", (1, 1), attributes={"alpha": 2.5}),
    "Elu down": Case("Elu", (1, 1), attributes={"alpha": -0.5}),
    "Gelu": Case("Gelu", (1, 1), opset=20),
    "Gelu tanh": Case("Gelu", (1, 1), attributes={"approximate": "tanh"}, opset=20),
    "LeakyRelu": Case("LeakyRelu", (1, 1), attributes={"alpha": 0.25}),
    "PRelu": Case("PRelu", (1, 1), (X, floats(-1.5))),
    **{f"Pow {n}": Case("Pow", (1, 1), (X, number(n))) for n in range(6)},
}
_KINKED = ("Abs", "Clip", "Elu", "LeakyRelu", "PRelu", "Relu")
_POSITIVE = ("Log", "Sqrt")


def slopes_on_grid(network: Network, points: Tensor) -> Tensor:
    x = points.unsqueeze(1).requires_grad_()
    (found,) = torch.autograd.grad(torch_view(network, torch.float64)(x).sum(), x)
    return found[:, 0]


def searched(network: Network, least: float, most: float) -> float:
    """The largest minus the least slope: a grid, then finer ones around the best points."""
    if most <= least:
        return 0.0
    found = []
    for sign in (1.0, -1.0):
        near = torch.linspace(max(least, min(-8.0, most)), min(most, max(8.0, least)), 1501)
        grid = torch.cat([torch.linspace(least, most, 1501, dtype=torch.float64), near.double()])
        best = -math.inf
        for _ in range(7):
            grid = grid.clamp(least, most).sort().values
            slopes = sign * slopes_on_grid(network, grid)
            place = int(slopes.argmax())
            best = max(best, float(slopes[place]))
            grid = torch.linspace(
                float(grid[max(place - 2, 0)]),
                float(grid[min(place + 2, len(grid) - 1)]),
                201,
                dtype=torch.float64,
            )
        found.append(best)
    return sum(found)


_CENTRES = st.one_of(
    st.floats(-30, 30),
    st.sampled_from([0.0, -1.0, 1.5, 0.25, math.pi, -math.pi / 2, math.sqrt(2), -math.sqrt(2)]),
)


@pytest.mark.parametrize("label", sorted(_CURVES))
@settings(max_examples=60, deadline=None)
@given(_CENTRES, st.floats(-9, 1.8), st.sampled_from([-1.0, -0.5, -0.25, 0.0]))
@example(0.0, 0.0, 0.0)
@example(0.0, 0.0, -1.0)
@example(0.0, 1.0, -0.5)
def test_functions_of_one_number(label: str, centre: float, size: float, place: float) -> None:
    case = _CURVES[label]
    width = 10.0**size
    low = centre + place * width
    if case.op_type in _POSITIVE or case.op_type == "Reciprocal":
        low = abs(low) + 0.01
    high = low + width
    if case.op_type == "Reciprocal" and centre < 0:
        low, high = -high, -low
    network = load(case.onnx(), label)
    edge = 0.0
    if case.op_type in _KINKED:
        # An end is at a kink or well away from it; slopes are compared just inside.
        low, high, edge = round(low, 6), round(high, 6), 1e-10
    expected = searched(network, low + edge, high - edge)
    found = float(varied(network, of([low]), of([high])))
    assert found == pytest.approx(expected, rel=1e-8, abs=1e-8)


@pytest.mark.parametrize(
    ("op_type", "most"),
    [
        ("Sigmoid", 0.25),
        ("Tanh", 1.0),
        ("Erf", 2 / math.sqrt(math.pi)),
        ("Softplus", 1.0),
        ("Sin", 2.0),
        ("Cos", 2.0),
        ("Relu", 1.0),
        ("Abs", 2.0),
        ("Exp", math.inf),
    ],
)
def test_the_whole_line(op_type: str, most: float) -> None:
    """Huge boxes, and boxes of which nothing is known."""
    network = load(Case(op_type, (1, 2)).onnx(), op_type)
    low = of([-1e300, -math.inf])
    assert varied(network, low, -low).flatten().tolist() == [pytest.approx(most)] * 2


@pytest.mark.parametrize("label", ["Gelu", "Gelu tanh"])
def test_gelu_on_the_whole_line(label: str) -> None:
    """The slopes at the two turns add up to 1."""
    network = load(_CURVES[label].onnx(), label)
    whole = float(varied(network, of([-1e30]), of([1e30])))
    turn = slopes_on_grid(network, torch.linspace(1.41, 1.42, 1001, dtype=torch.float64)).max()
    assert whole == pytest.approx(2 * float(turn) - 1, abs=1e-10)


def test_far_waves_are_resolved() -> None:
    """1e15 lies about 2.1 past a crest of the cosine."""
    network = load(Case("Sin", (1, 1)).onnx(), "sin")
    start = 1e15
    assert float(varied(network, of([start]), of([start + 0.5]))) == pytest.approx(
        math.cos(start) - math.cos(start + 0.5), abs=1e-12
    )
    assert float(varied(network, of([start]), of([start + 7.0]))) == 2.0


@pytest.mark.parametrize(
    ("op_type", "low", "high"),
    [
        ("Reciprocal", -1.0, 1.0),
        ("Reciprocal", 0.0, 1.0),
        ("Reciprocal", -1.0, 0.0),
        ("Log", 0.0, 1.0),
        ("Log", -1.0, 1.0),
        ("Log", -1.0, -1.0),
        ("Sqrt", 0.0, 1.0),
        ("Sqrt", -1.0, 1.0),
        ("Exp", 0.0, 800.0),
    ],
)
def test_slopes_without_bound(op_type: str, low: float, high: float) -> None:
    network = load(Case(op_type, (1, 1)).onnx(), op_type)
    assert float(varied(network, of([low]), of([high]))) == math.inf


@pytest.mark.parametrize("label", sorted(set(_CURVES) - {"Log", "Sqrt"}))
def test_points_have_one_slope(label: str) -> None:
    network = load(_CURVES[label].onnx(), label)
    points = torch.linspace(-3, 3, 6, dtype=torch.float64).unsqueeze(1)
    assert not varied(network, points, points).any()


def test_exponents_count_one_by_one() -> None:
    network = load(Case("Pow", (1, 4), (X, floats(0, 1, 2, 3))).onnx(), "pow")
    found = varied(network, of([-1, -1, -1, -2]), of([2, 2, 2, 1]))
    assert found.tolist() == [[[0.0, 0.0, 6.0, 12.0]]]


# Functions of several numbers


def halves(
    build: Callable[[GraphBuilder, str, str], str], shapes: Sequence[Sequence[int]]
) -> Network:
    """A network of one node whose two operands are parts of the input."""
    sizes = [math.prod(shape) for shape in shapes]
    graph = GraphBuilder((1, sum(sizes)))
    a = graph.reshape(graph.slice(graph.input, [0], [sizes[0]], [1]), shapes[0])
    b = graph.reshape(graph.slice(graph.input, [sizes[0]], [sum(sizes)], [1]), shapes[1])
    return load(graph.build(build(graph, a, b)), "halves")


def drawn_box(seed: int, size: int, least: float = -2.0) -> Box:
    """A box of a few widths at once, one of them zero."""
    rng = np.random.default_rng(seed)
    low = rng.uniform(least, 2.0, (1, size))
    wide = rng.choice([0.0, 0.01, 0.5, 2.0], (1, size))
    return torch.tensor(low), torch.tensor(low + wide)


def corners(lower: Tensor, upper: Tensor) -> Tensor:
    ends = [sorted({a, b}) for a, b in zip(lower[0].tolist(), upper[0].tolist(), strict=True)]
    return torch.tensor(list(product(*ends)), dtype=torch.float64)


def sampled(lower: Tensor, upper: Tensor, count: int) -> Tensor:
    draw = torch.Generator().manual_seed(0)
    share = torch.rand(count, lower.shape[1], generator=draw, dtype=torch.float64)
    return lower + share * (upper - lower)


def seen(network: Network, points: Tensor) -> Tensor:
    """The largest variation of any partial derivative of each output among these points."""
    found = derivatives(network, points)
    return (found.amax(0) - found.amin(0)).amax(-1)


_PRODUCTS: Mapping[str, Network] = {
    "mul": halves(lambda g, a, b: g.mul(a, b), [(1, 2, 2), (1, 2)]),
    "mul wide": halves(lambda g, a, b: g.mul(a, b), [(1, 2), (2, 2, 1)]),
    "matmul": halves(lambda g, a, b: g.matmul(a, b), [(2, 2), (2, 3)]),
    "matmul vector": halves(lambda g, a, b: g.matmul(a, b), [(3,), (3, 2)]),
    "matmul to vector": halves(lambda g, a, b: g.matmul(a, b), [(2, 3), (3,)]),
    "matmul stack": halves(lambda g, a, b: g.matmul(a, b), [(2, 1, 2), (2, 2)]),
    "div": halves(lambda g, a, b: g.div(a, b), [(1, 2, 2), (1, 2)]),
    "square": load(Case("Mul", (1, 3), (X, X)).onnx(), "square"),
}
_ALL_POSITIVE = ("div", "div constant")


@pytest.mark.parametrize("label", sorted(_PRODUCTS))
@settings(max_examples=12, deadline=None)
@given(st.integers(0, 10**6))
def test_products_reach_their_variation_at_corners(label: str, seed: int) -> None:
    network = _PRODUCTS[label]
    lower, upper = drawn_box(seed, network.inputs, 0.25 if label in _ALL_POSITIVE else -2.0)
    found = varied(network, lower, upper).flatten()
    assert (seen(network, sampled(lower, upper, 200)) <= found + 1e-9).all()
    torch.testing.assert_close(seen(network, corners(lower, upper)), found, rtol=1e-9, atol=1e-9)


def test_gemm_with_turned_and_scaled_factors() -> None:
    case = Case("Gemm", (2, 2), (X, X, X), {"transA": 1, "alpha": -3.0, "beta": 5.0})
    network = load(case.onnx(), "gemm")
    found = varied(network, of([0, 0, 0, 0]), of([1, 2, 4, 8]))
    # Rows of the transposed left factor have widths (1, 4) and (2, 8), columns of the right too.
    assert found.tolist() == [[[12.0, 24.0], [24.0, 24.0]]]


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_division_of_constants(sign: float) -> None:
    network = load(Case("Div", (1, 3), (floats(2, -2, 0), X)).onnx(), "div")
    ends = of([0.5, 0.5, 0.5]) * sign, of([1.0, 1.0, 1.0]) * sign
    found = varied(network, torch.minimum(*ends), torch.maximum(*ends))
    torch.testing.assert_close(found[0], of([6.0, 6.0, 0.0]))


def test_division_by_what_may_be_zero_and_of_computed_constants() -> None:
    network = load(Case("Div", (1, 2), (floats(1, 1), X)).onnx(), "div")
    assert varied(network, of([-1, 0]), of([1, 1])).isinf().all()
    graph = GraphBuilder((1, 1))
    constant = graph.exp(graph.mul(np.zeros((1, 1), np.float32), np.ones((1, 1), np.float32)))
    by_input = load(graph.build(graph.div(constant, graph.input)), "rounded constant")
    # 1 / y alone would vary by 1/2, but nothing moves above the line: x / y^2 at 1 and 2.
    assert float(varied(by_input, of([1]), of([2]))) == pytest.approx(0.75)
    graph = GraphBuilder((1, 1))
    constant = graph.exp(graph.mul(np.zeros((1, 1), np.float32), np.ones((1, 1), np.float32)))
    scaled = load(graph.build(graph.mul(constant, graph.input)), "rounded factor")
    assert not slope_variations(*propagated(scaled, of([1]), of([2])))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6))
def test_softmax_by_its_own_slope(seed: int) -> None:
    lower, upper = drawn_box(seed, 4)
    points = torch.cat([corners(lower, upper), sampled(lower, upper, 3000)])
    for op_type in ("Softmax", "LogSoftmax"):
        network = load(Case(op_type, (1, 4)).onnx(), op_type)
        own = derivatives(network, points).diagonal(dim1=1, dim2=2)
        reached = own.amax(0) - own.amin(0)
        found = varied(network, lower, upper)[0, 0]
        assert (reached <= found + 1e-9).all()
        # Between corners p (1 - p) has a flat top, which samples nearly reach.
        assert (found <= reached + (1e-3 if op_type == "Softmax" else 1e-9)).all()


@pytest.mark.parametrize("attributes", [{}, {"axis": 1}])
@pytest.mark.parametrize("opset", [11, 13])
def test_softmax_axes(attributes: dict[str, int], opset: int) -> None:
    case = Case("Softmax", (1, 2, 3), attributes=attributes, opset=opset)
    network = load(case.onnx(), "softmax")
    lower, upper = drawn_box(5, 6)
    own = derivatives(network, sampled(lower, upper, 2000)).diagonal(dim1=1, dim2=2)
    found = varied(network, lower, upper).flatten()
    assert (own.amax(0) - own.amin(0) <= found + 1e-9).all()
    assert (found <= own.amax(0) - own.amin(0) + 0.1).all()


_CHOICES: Mapping[str, Network] = {
    "max": load(Case("Max", (1, 2, 3), (X, floats(0.5, -1, 0), number(-0.5))).onnx(), "max"),
    "min": load(Case("Min", (1, 2, 3), (X, floats(0.5, -1, 0), number(0.75))).onnx(), "min"),
    "max of parts": halves(lambda g, a, b: g.maximum(a, b), [(1, 2, 2), (1, 2)]),
    "min of parts": halves(lambda g, a, b: g.minimum(a, b), [(1, 3), (2, 1)]),
    "max pool": load(
        Case(
            "MaxPool",
            (1, 1, 3, 3),
            attributes={"kernel_shape": [2, 2], "pads": [1, 0, 1, 1], "strides": [2, 1]},
        ).onnx(),
        "pool",
    ),
    "dilated pool": load(
        Case("MaxPool", (1, 2, 5), attributes={"kernel_shape": [2], "dilations": [2]}).onnx(),
        "pool",
    ),
    "global pool": load(Case("GlobalMaxPool", (1, 2, 2, 2)).onnx(), "pool"),
    **{
        f"{op} {axes} {keep}": load(
            Case(op, (2, 2, 2), attributes={"axes": axes, "keepdims": keep}).onnx(), op
        )
        for op in ("ReduceMax", "ReduceMin")
        for axes in ([1], [0, -1], [0, 1, 2])
        for keep in (0, 1)
    },
}


@pytest.mark.parametrize("label", sorted(_CHOICES))
@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6))
def test_choices_are_stable_where_one_always_wins(label: str, seed: int) -> None:
    """Who wins changes, if at all, between corners; there it shows in the derivatives."""
    network = _CHOICES[label]
    rng = np.random.default_rng(seed)
    low = torch.tensor(rng.uniform(-2, 2, (1, network.inputs)))
    high = low + torch.tensor(rng.choice([0.0, 1e-3, 0.4, 1.5], (1, network.inputs)))
    found = varied(network, low, high).flatten()
    reached = seen(network, torch.cat([corners(low, high), sampled(low, high, 50)]))
    torch.testing.assert_close(found, reached, rtol=0, atol=0)


@pytest.mark.parametrize("op_type", ["ReduceMax", "ReduceMin"])
@pytest.mark.parametrize(
    ("lower", "upper", "expected"),
    [
        ([1, 1], [1, 1], 0),  # identical constants
        ([0, 1], [1, 2], 0),  # they touch
        ([0, 0], [1, 0], None),  # a ReLU in disguise at its kink
        ([0, 0.5], [1, 0.5], 1),  # a constant inside an interval
        ([0, 0], [1, 1], 1),
        ([-math.inf, 0], [math.inf, 1], 1),
    ],
)
def test_ties(op_type: str, lower: list[float], upper: list[float], expected: int | None) -> None:
    network = load(Case(op_type, (1, 2), attributes={"axes": [1]}).onnx(), op_type)
    ends = (of(lower), of(upper)) if op_type == "ReduceMax" else (-of(upper), -of(lower))
    assert float(varied(network, *ends)) == (0 if expected is None else expected)


def test_a_maximum_of_one_tensor_is_stable() -> None:
    network = load(Case("Max", (1, 2), (X, X)).onnx(), "max")
    assert not varied(network, of([-1, -1]), of([1, 1])).any()


def test_clip_between_bounds_that_move() -> None:
    """Clip(x, low, high) with x in [0, 2]: the lower bound in [-1, 1/2], or below, or above."""
    graph_case = Case("Clip", (), (number(1.0), X, number(3.0)))
    network = load(graph_case.onnx(), "clip")
    for low, high, expected in ((-1.0, 0.5, 0), (-1.0, 1.5, 1), (2.0, 2.5, 0), (2.0, 4.0, 1)):
        found = varied(network, of([low]), of([high]))
        assert float(found) == expected


# Whole networks


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
    message = "operator Relu at node 'under_test' has no rule for the unstable fraction"
    with pytest.raises(Unsupported, match=message):
        slope_variations(engine, values)
