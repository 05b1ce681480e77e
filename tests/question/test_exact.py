from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from operator_cases import CASES, Case, X, floats, ints, number, weights

from assay.errors import BadInput, Unsupported
from assay.question.exact import EXACT_OPERATORS, IRRATIONAL_OPERATORS, ExactFunction, evaluate
from assay.question.graph import GraphBuilder, mlp
from assay.question.network import Network, load
from assay.question.operators.rational import Rational
from assay.question.runtime import FloatRunner

_EXACT_CASES = [case for case in CASES if case.op_type in EXACT_OPERATORS]


def exactly(network: Network, point: np.ndarray) -> np.ndarray:
    return np.array([float(y) for y in evaluate(network, [Fraction(float(v)) for v in point])])


def assert_close(found: np.ndarray, expected: np.ndarray) -> None:
    scale = max(1.0, float(np.abs(expected).max()))
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-5 * scale)


@pytest.mark.parametrize("case", _EXACT_CASES, ids=lambda c: c.label)
def test_agrees_with_onnx_runtime(case: Case) -> None:
    network = load(case.onnx(), case.label)
    points = case.points(3)
    found = np.stack([exactly(network, point) for point in points])
    assert_close(found, FloatRunner(network).run(points))


@pytest.mark.parametrize("op_type", sorted(IRRATIONAL_OPERATORS))
def test_irrational_operators_are_refused(op_type: str) -> None:
    case = next(case for case in CASES if case.op_type == op_type)
    with pytest.raises(Unsupported, match=f"operator {op_type} at node 'under_test' needs ball"):
        evaluate(load(case.onnx(), "net.onnx"), [Fraction(0)] * math.prod(case.shape))


def test_is_exact_where_float32_is_not() -> None:
    graph = GraphBuilder((1, 2))
    data = graph.build(graph.gemm(graph.input, floats(1, 2**-30).reshape(1, 2), floats(-1)))
    assert evaluate(load(data, "net"), [Fraction(1), Fraction(1, 3)]) == [Fraction(1, 3 * 2**30)]


def test_division_is_a_quotient_of_rationals() -> None:
    case = Case("Div", (1, 2), (X, floats(3, -7)))
    assert evaluate(load(case.onnx(), "net"), [Fraction(1), Fraction(2)]) == [
        Fraction(1, 3),
        Fraction(-2, 7),
    ]


def test_thirds_and_float32_constants_mix() -> None:
    case = Case("AveragePool", (1, 1, 3), attributes={"kernel_shape": [3]})
    point = [Fraction(1, 5), Fraction(1, 7), Fraction(0)]
    assert evaluate(load(case.onnx(), "net"), point) == [sum(point) / 3]


def test_division_by_zero_is_named() -> None:
    case = Case("Reciprocal", (1, 2))
    with pytest.raises(BadInput, match="under_test' divides by zero"):
        evaluate(load(case.onnx(), "net"), [Fraction(1), Fraction(0)])


@pytest.mark.parametrize("exponent", [-1.0, 0.5, 1e9])
def test_refuses_powers_that_are_irrational_or_endless(exponent: float) -> None:
    case = Case("Pow", (1, 2), (X, number(exponent)))
    with pytest.raises(Unsupported, match="exponent"):
        evaluate(load(case.onnx(), "net"), [Fraction(3), Fraction(1, 3)])


def test_refuses_endless_squaring() -> None:
    graph = GraphBuilder((1, 2))
    x = graph.input
    for _ in range(60):
        x = graph.mul(x, x)
    with pytest.raises(Unsupported, match="too long"):
        evaluate(load(graph.build(x), "net"), [Fraction(3), Fraction(1, 3)])


def test_batch_normalization_without_rational_root() -> None:
    ones = np.ones(2, np.float32)
    case = Case("BatchNormalization", (1, 2), (X, ones, ones, ones, ones))
    with pytest.raises(Unsupported, match="ball arithmetic"):
        evaluate(load(case.onnx(), "net"), [Fraction(0), Fraction(0)])


def test_unknown_operator_and_wrong_point() -> None:
    argmax = Case("HardSwish", (1, 2), opset=14)
    with pytest.raises(Unsupported, match="no exact arithmetic for operator HardSwish yet"):
        evaluate(load(argmax.onnx(), "net"), [Fraction(0), Fraction(0)])
    with pytest.raises(BadInput, match="a point of 3 numbers"):
        evaluate(load(Case("Relu", (1, 2)).onnx(), "net"), [Fraction(0)] * 3)


def test_ceil_mode_that_matters_is_refused() -> None:
    attributes = {"kernel_shape": [2], "strides": [2], "ceil_mode": 1}
    even = Case("MaxPool", (1, 1, 4), attributes=attributes)
    assert evaluate(load(even.onnx(), "net"), [Fraction(i) for i in range(4)]) == [1, 3]
    odd = Case("MaxPool", (1, 1, 5), attributes=attributes)
    with pytest.raises(Unsupported, match="ceil_mode"):
        evaluate(load(odd.onnx(), "net"), [Fraction(i) for i in range(5)])


@pytest.mark.timeout(120)  # the integers must not explode
def test_fifty_layers_of_width_256() -> None:
    rng = np.random.default_rng(0)
    layers = [
        ((rng.normal(size=(256, 256)) / 11).astype(np.float32), weights(256)) for _ in range(50)
    ]
    network = load(mlp(layers), "deep")
    function = ExactFunction(network)
    point = rng.normal(size=256).astype(np.float32)
    outputs = function([Fraction(float(v)) for v in point])
    expected = FloatRunner(network).run(point[np.newaxis])[0]
    np.testing.assert_allclose([float(y) for y in outputs], expected, rtol=1e-3, atol=1e-2)


_FINITE = st.floats(width=32, allow_nan=False, allow_infinity=False)


@given(st.lists(_FINITE, min_size=1, max_size=8))
def test_floats_are_decoded_exactly(values: list[float]) -> None:
    decoded = Rational.from_floats(np.array(values, np.float32))
    assert decoded.fractions() == [Fraction(v) for v in values]


_SMALL = st.integers(-64, 64).map(lambda n: n / 16)


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_mlp_is_the_textbook_formula(data: st.DataObject) -> None:
    widths = data.draw(st.lists(st.integers(1, 4), min_size=2, max_size=4))
    layers = []
    for fan_in, fan_out in pairwise(widths):
        rows = st.lists(_FINITE, min_size=fan_in, max_size=fan_in)
        weight = data.draw(st.lists(rows, min_size=fan_out, max_size=fan_out))
        bias = data.draw(st.lists(_FINITE, min_size=fan_out, max_size=fan_out))
        layers.append((np.array(weight, np.float32), np.array(bias, np.float32)))
    fractions = st.fractions(max_denominator=1000)
    point = data.draw(st.lists(fractions, min_size=widths[0], max_size=widths[0]))
    expected = point
    for i, (weight, bias) in enumerate(layers):
        given_values = [max(v, Fraction(0)) for v in expected] if i else expected
        expected = [
            sum(
                (Fraction(float(w)) * v for w, v in zip(row, given_values, strict=True)),
                start=Fraction(float(b)),
            )
            for row, b in zip(weight, bias, strict=True)
        ]
    assert evaluate(load(mlp(layers), "mlp"), point) == expected


def _random_graph(data: st.DataObject) -> bytes:
    """A few operators on an image, then a few on a row."""
    graph = GraphBuilder((1, 2, 5, 4))
    pick = lambda *names: data.draw(st.sampled_from(names))  # noqa: E731
    x = graph.input
    for _ in range(data.draw(st.integers(0, 4))):
        channels, height, width = graph.shape(x)[1:]
        match pick("conv", "pool", "relu", "add", "concat", "slice", "clip", "max", "pad"):
            case "conv" if height > 1 and width > 1:
                x = graph.conv(x, weights(3, channels, 2, 2), weights(3), pads=(1, 0, 0, 1))
            case "pool" if height > 1 and width > 1:
                x = graph.average_pool(x, (2, 2), pads=(0, 1, 1, 0))
            case "add":
                x = graph.add(x, weights(channels, 1, width))
            case "concat":
                x = graph.concat([x, graph.neg(x)], axis=1)
            case "slice" if height > 1:
                x = graph.slice(x, [1], [2**31], [2])
            case "clip":
                x = graph.clip(x, -1.5, 2)
            case "max":
                x = graph.maximum(x, graph.mul(x, number(-0.5)))
            case "pad":
                x = graph.pad(x, [0, 0, 1, 0, 0, 0, 0, 2], value=0.5)
            case _:
                x = graph.relu(x)
    x = graph.flatten(x)
    for _ in range(data.draw(st.integers(0, 3))):
        match pick("gemm", "pow", "sub", "transpose", "gather"):
            case "pow":
                x = graph.pow(graph.clip(x, -2, 2), 2.0)
            case "sub":
                x = graph.sub(x, graph.reduce_mean(x, [1]))
            case "transpose":
                x = graph.transpose(graph.reshape(graph.transpose(x, [1, 0]), [-1, 1]), [1, 0])
            case "gather":
                x = graph.gather(x, ints(-1, 0, 0), axis=1)
            case _:
                x = graph.gemm(x, weights(4, graph.shape(x)[1]), weights(4))
    return graph.build(x)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_random_graphs_agree_with_onnx_runtime(data: st.DataObject) -> None:
    network = load(_random_graph(data), "random")
    values = data.draw(st.lists(_SMALL, min_size=40, max_size=40))
    point = np.array(values, np.float32)
    assert_close(exactly(network, point), FloatRunner(network).run(point[np.newaxis])[0])
