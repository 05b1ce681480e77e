"""Variations of partial derivatives against those that torch finds at corners and inside."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from operator_cases import Case, X, floats, number
from slope_probes import of, propagated, varied
from torch import Tensor

from assay.difficulty.slope_variation import slope_variations
from assay.question.graph import GraphBuilder
from assay.question.network import Network, load
from assay.question.torch_view import torch_view

Box = tuple[Tensor, Tensor]


def derivatives(network: Network, points: Tensor) -> Tensor:
    """[N, outputs, inputs] by differentiation."""
    function = torch_view(network, torch.float64)
    jacobian: Tensor = torch.func.vmap(
        torch.func.jacrev(lambda x: function(x.unsqueeze(0)).flatten())
    )(points)
    return jacobian


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


@pytest.mark.parametrize("label", sorted(_PRODUCTS))
@settings(max_examples=12, deadline=None)
@given(st.integers(0, 10**6))
def test_products_reach_their_variation_at_corners(label: str, seed: int) -> None:
    network = _PRODUCTS[label]
    lower, upper = drawn_box(seed, network.inputs, 0.25 if label == "div" else -2.0)
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
        ([0, 0], [1, 0], 0),  # a ReLU in disguise at its kink
        ([0, 0.5], [1, 0.5], 1),  # a constant inside an interval
        ([0, 0], [1, 1], 1),
        ([-math.inf, 0], [math.inf, 1], 1),
    ],
)
def test_ties(op_type: str, lower: list[float], upper: list[float], expected: int) -> None:
    network = load(Case(op_type, (1, 2), attributes={"axes": [1]}).onnx(), op_type)
    ends = (of(lower), of(upper)) if op_type == "ReduceMax" else (-of(upper), -of(lower))
    assert float(varied(network, *ends)) == expected


def test_a_maximum_of_one_tensor_is_stable() -> None:
    network = load(Case("Max", (1, 2), (X, X)).onnx(), "max")
    assert not varied(network, of([-1, -1]), of([1, 1])).any()


def test_clip_between_bounds_that_move() -> None:
    """Of 1 below by x, above by 3: the largest of 1 and x, but at most 3."""
    network = load(Case("Clip", (), (number(1.0), X, number(3.0))).onnx(), "clip")
    for low, high, expected in (
        (-1.0, 0.5, 0),
        (-1.0, 1.5, 1),
        (2.0, 2.5, 0),
        (2.0, 4.0, 1),
        (3.0, 4.0, 0),
    ):
        found = varied(network, of([low]), of([high]))
        assert float(found) == expected
