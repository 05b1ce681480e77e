"""Networks that nobody means: the checker answers them with a sentence, and soon."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from hostile_builders import linear_attention
from onnx import helper
from small_claims import claimed, model, network, question

ABOVE = "(assert (<= Y_0 0))"
LAST = np.array([-1], np.int64)
node = helper.make_node


@pytest.mark.parametrize(
    ("nodes", "constants", "shape"),
    [
        ([node("Softmax", ["x"], ["y"], axis=-1)], {}, ()),
        ([node("ReduceSum", ["x", "last"], ["y"], keepdims=1)], {"last": LAST}, ()),
        (
            [
                node("ReduceSum", ["two", "last"], ["d"], keepdims=1),
                node("Mul", ["x", "d"], ["y"]),
            ],
            {"two": 2.0, "last": LAST},
            (1,),
        ),
    ],
)
def test_rows_of_a_single_number(
    nodes: list[onnx.NodeProto], constants: dict[str, Any], shape: tuple[int, ...]
) -> None:
    claim = claimed(
        model(nodes, constants, shape, shape),
        question([(0, 1)], outputs=1, condition=ABOVE),
        kind="softmax_attention",
    )
    assert claim.verdict().status == "unsupported"


def head(source: str, number: object = "") -> list[onnx.NodeProto]:
    """Attention over a tensor with one matrix; it makes the tensor `h` and the number."""
    q, k, v, t, s, a, h = (f"{letter}{number}" for letter in "qkvtsah")
    return [
        node("MatMul", [source, "W"], [q]),
        node("MatMul", [source, "W"], [k]),
        node("MatMul", [source, "W"], [v]),
        node("Transpose", [k], [t], perm=[0, 2, 1]),
        node("MatMul", [q, t], [s]),
        node("Softmax", [s], [a], axis=-1),
        node("MatMul", [a, v], [h]),
    ]


@pytest.mark.parametrize(
    ("source", "shape"), [("x", ()), ("x", (1,)), ("n", (1,)), ("", (1,))], ids=str
)
def test_a_head_over_no_tokens(source: str, shape: tuple[int, ...]) -> None:
    nodes = [*head(source), node("Relu", ["h"], ["y"])]
    made = model(nodes, {"W": [[0.5]], "n": np.array([1], np.int64)}, shape, shape)
    asked = question([(0, 1)], outputs=1, condition=ABOVE)
    for witness in (None, ["0"]):
        claim = claimed(made, asked, kind="softmax_attention", margin="0", witness=witness)
        assert claim.verdict().status == ("unsupported" if source else "rejected")


def test_a_pool_of_a_single_number() -> None:
    pool = model([node("AveragePool", ["x"], ["y"], kernel_shape=[1, 1])], {}, (), ())
    for kind in ("corners", "softmax_attention"):
        claim = claimed(pool, question([(0, 1)], outputs=1, condition=ABOVE), kind=kind)
        assert claim.verdict().status == "unsupported"


def test_numbers_that_grow_without_end() -> None:
    deep = [([[1e38 if i % 2 else 1e-38]], [1e-45]) for i in range(600)]
    asked = question([(0, 1)], outputs=1, condition=ABOVE)
    for witness in (None, ["0"]):
        claim = claimed(network(deep), asked, kind="contractive_cnn", margin="0", witness=witness)
        assert claim.verdict().status == "unsupported"


def test_more_layers_than_are_followed_as_functions() -> None:
    deep = [([[1.0]], [-0.5])] * 100
    asked = question([(0, 1)], outputs=1, condition=ABOVE)
    verdict = claimed(network(deep), asked, kind="planted").verdict()
    assert verdict.status == "unsupported"
    assert "layers" in verdict.reason


def test_heads_beyond_number() -> None:
    """Each is small; a network of them would have the checker multiply for minutes."""
    nodes, name = [], "x"
    for i in range(20):
        nodes += head(name, i)
        name = f"h{i}"
    nodes.append(node("Relu", [name], ["y"]))
    heads = model(nodes, {"W": [[0.5]]}, (1, 2, 1), (1, 2, 1))
    asked = question([(0, 1)] * 2, outputs=2)
    verdict = claimed(heads, asked, kind="softmax_attention").verdict()
    assert verdict.status == "unsupported"
    assert "attention heads" in verdict.reason


def test_an_input_without_a_name() -> None:
    proto = network([([[1]], [0]), ([[1]], [1])])
    proto.graph.input.append(helper.make_tensor_value_info("", onnx.TensorProto.FLOAT, (1, 1)))
    verdict = claimed(proto, question([(0, 1)], outputs=1, condition=ABOVE)).verdict()
    assert verdict.status == "rejected"


def test_whole_numbers_that_grow_without_end() -> None:
    """The denominator stays 1."""
    deep = [([[2.0**120]], [0.0])] * 600
    asked = question([(0, 1)], outputs=1, condition=ABOVE)
    for witness in (None, ["1"]):
        claim = claimed(network(deep), asked, kind="contractive_cnn", margin="0", witness=witness)
        assert claim.verdict().status == "unsupported"


@pytest.mark.parametrize("residual", [False, True])
def test_pools_beyond_number(residual: bool) -> None:
    """Each is a matrix of 2^20 entries."""
    nodes, name = [], "x"
    for i in range(20):
        nodes += [
            node("AveragePool", [name], [f"p{i}"], kernel_shape=[1, 1]),
            node("Relu", [f"p{i}"], [f"r{i}"]),
        ]
        if residual:
            nodes += [
                node("AveragePool", [f"r{i}"], [f"q{i}"], kernel_shape=[1, 1]),
                node("Add", [name, f"q{i}"], [f"s{i}"]),
            ]
        name = nodes[-1].output[0]
    nodes.append(node("AveragePool", [name], ["y"], kernel_shape=[32, 32]))
    made = model(nodes, {}, (1, 1, 32, 32), (1, 1, 1, 1))
    asked = question([(0, 1)] * 1024, outputs=1, condition=ABOVE)
    kind = "residual" if residual else "contractive_cnn"
    verdict = claimed(made, asked, kind=kind).verdict()
    assert verdict.status == "unsupported"
    assert ("pool" if residual else "too large") in verdict.reason


def test_bounds_without_a_common_denominator() -> None:
    lines = [f"(declare-const X_{i} Real)" for i in range(60)] + ["(declare-const Y_0 Real)"]
    for i in range(60):
        odd = 10**600 + 2 * i + 1
        lines += [f"(assert (>= (* {odd} X_{i}) -1))", f"(assert (<= (* {odd} X_{i}) 1))"]
    made = network([([[1.0] * 60], [0.0]), ([[1.0]], [1.0])])
    verdict = claimed(made, "\n".join([*lines, ABOVE]), kind="contractive_cnn").verdict()
    assert verdict.status == "unsupported"
    assert "denominator" in verdict.reason


def test_tokens_beyond_number() -> None:
    """Linear attention has a weight for each two of them."""
    verdict = linear_attention(1025, 1, ABOVE).verdict()
    assert verdict.status == "unsupported"
    assert "tokens" in verdict.reason
