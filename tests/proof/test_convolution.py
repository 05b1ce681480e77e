"""How the checker reads convolutions, and what it proves about their norms."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import helper
from small_claims import model

from assay.proof import reader
from assay.proof.arithmetic import Rejected, Unsupported, Vector
from assay.proof.chain import Chain, read_chain
from assay.proof.convolution import Convolution
from assay.proof.interval import Interval, through
from assay.proof.operator_norms import row_sum, squared_stretch
from assay.question.convolution import ConvLayer
from assay.question.exact import evaluate
from assay.question.network import load


def network(
    image: tuple[int, ...], kernel: np.ndarray, positions: tuple[int, int], **attributes: Any
) -> bytes:
    """Conv, Relu, Flatten and a matrix that sums everything."""
    units = len(kernel) * positions[0] * positions[1]
    constants = {
        "K": kernel.astype(np.float32),
        "b": np.arange(len(kernel)).astype(np.float32) / 4,
        "W": np.ones((units, 2), np.float32),
    }
    nodes = [
        helper.make_node("Conv", ["x", "K", "b"], ["s"], **attributes),
        helper.make_node("Relu", ["s"], ["z"]),
        helper.make_node("Flatten", ["z"], ["f"]),
        helper.make_node("MatMul", ["f", "W"], ["y"]),
    ]
    return model(nodes, constants, (1, *image), (1, 2)).SerializeToString()


def chain(data: bytes) -> Chain:
    return read_chain(reader.read(data))


@st.composite
def layers(draw: st.DrawFn) -> ConvLayer:
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    image = (draw(st.integers(1, 3)), draw(st.integers(3, 5)), draw(st.integers(3, 5)))
    sides = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    kernel = (rng.integers(-8, 9, (draw(st.integers(1, 3)), image[0], *sides)) / 4).astype(
        np.float32
    )
    bias = np.arange(len(kernel)).astype(np.float32) / 4
    strides = draw(st.integers(1, 2)), draw(st.integers(1, 2))
    pads = tuple(draw(st.integers(0, 2)) for _ in range(4))
    return ConvLayer(kernel, bias, image, strides, (pads[0], pads[1], pads[2], pads[3]))


def as_network(layer: ConvLayer) -> bytes:
    window = {"strides": layer.strides, "pads": layer.pads}
    return network(layer.image, layer.kernel, layer.positions, **window)


@settings(max_examples=60, deadline=None)
@given(layers(), st.integers(0, 10**6))
def test_it_computes_what_the_graph_says(layer: ConvLayer, seed: int) -> None:
    data = as_network(layer)
    draw = np.random.default_rng(seed)
    point = [Fraction(int(v), 8) for v in draw.integers(-9, 9, int(np.prod(layer.image)))]
    expected = evaluate(load(data, "conv"), point)
    assert chain(data).outputs(Vector.of(point)).fractions() == expected
    weight, bias = layer.dense()
    first = chain(data).layers[0].at(Vector.of(point)).fractions()
    exact = [[Fraction(float(w)) for w in row] for row in weight]
    assert first == [
        sum((w * v for w, v in zip(row, point, strict=True)), Fraction(float(b)))
        for row, b in zip(exact, bias, strict=True)
    ]


@settings(max_examples=60, deadline=None)
@given(layers())
def test_norms_and_intervals_are_those_of_the_matrix(layer: ConvLayer) -> None:
    found = chain(as_network(layer)).layers[0]
    weight = layer.dense()[0].astype(np.float64)
    assert row_sum(found) == Fraction(float(np.abs(weight).sum(axis=1).max()))
    assert squared_stretch(found) >= Fraction(float(np.linalg.norm(weight, 2)) ** 2) * (
        1 - Fraction(1, 10**9)
    )
    size = weight.shape[1]
    box = Interval.of([Fraction(-1)] * size, [Fraction(1, 2)] * size)
    reached = through(found, box)
    offset = layer.unit_bias.astype(np.float64)
    positive, negative = np.maximum(weight, 0).sum(axis=1), np.minimum(weight, 0).sum(axis=1)
    assert reached.upper.fractions() == [
        Fraction(float(v)) for v in positive / 2 - negative + offset
    ]
    assert reached.lower.fractions() == [
        Fraction(float(v)) for v in -positive + negative / 2 + offset
    ]


def test_units_with_one_filter_share_their_response_place_by_place() -> None:
    kernel = np.array([1, 2, 1], np.float32).reshape(3, 1, 1, 1)
    found = chain(network((1, 2, 2), kernel, (2, 2))).layers[0]
    assert isinstance(found, Convolution)
    shared = [group for group in found.responses() if len(group) > 1]
    assert shared == [[0, 8], [1, 9], [2, 10], [3, 11]]


@pytest.mark.parametrize(
    "attributes",
    [
        {"dilations": [2, 2]},
        {"group": 2},
        {"auto_pad": "SAME_UPPER"},
        {"kernel_shape": [2, 2]},
        {"strides": [0, 1]},
        {"strides": [1]},
        {"pads": [-1, 0, 0, 0]},
        {"pads": [10**9, 0, 0, 0]},
        {"pads": [0] * 40},
        {"surprise": [1, 2]},
    ],
)
def test_other_windows_are_not_understood(attributes: dict[str, Any]) -> None:
    data = network((1, 3, 3), np.ones((1, 1, 3, 3)), (1, 1), **attributes)
    with pytest.raises((Rejected, Unsupported)):
        chain(data)


def test_a_list_on_another_node_is_not_ignored() -> None:
    nodes = [
        helper.make_node("Relu", ["s"], ["z"], axes=[1]),
        helper.make_node("MatMul", ["z", "W"], ["y"]),
    ]
    first = helper.make_node("MatMul", ["x", "W"], ["s"])
    graph = model([first, *nodes], {"W": np.eye(2, dtype=np.float32)}, (1, 2), (1, 2))
    with pytest.raises(Rejected, match=r"Relu.*attribute"):
        chain(graph.SerializeToString())


def test_an_mlp_certificate_is_not_for_convolutions() -> None:
    data = network((1, 3, 3), np.ones((1, 1, 3, 3)), (1, 1))
    with pytest.raises(Unsupported, match="without convolutions"):
        _ = chain(data).hidden


def test_a_network_that_ends_in_a_convolution_is_unsupported() -> None:
    node = helper.make_node("Conv", ["x", "K"], ["y"])
    constants = {"K": np.ones((1, 1, 2, 2), np.float32)}
    with pytest.raises(Unsupported, match="end in a matrix"):
        chain(model([node], constants, (1, 1, 2, 2), (1, 1, 1, 1)).SerializeToString())


def test_a_network_of_too_many_windows_is_unsupported_before_it_takes_room() -> None:
    """A few bytes of padding a node can ask for a large image."""
    nodes, name = [], "x"
    for number in range(40):
        following = f"c{number}"
        nodes.append(helper.make_node("Conv", [name, "K"], [following], pads=[8] * 4))
        nodes.append(helper.make_node("Relu", [following], [f"z{number}"]))
        name = f"z{number}"
    nodes.append(helper.make_node("Flatten", [name], ["f"]))
    nodes.append(helper.make_node("MatMul", ["f", "W"], ["y"]))
    constants = {"K": np.ones((1, 1, 9, 9), np.float32), "W": np.ones((4, 2), np.float32)}
    graph = model(nodes, constants, (1, 1, 300, 300), (1, 2))
    with pytest.raises(Unsupported, match="too large"):
        chain(graph.SerializeToString())
