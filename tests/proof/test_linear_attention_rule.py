"""The rule of linear attention: its ends and averages are right, other graphs are not followed."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import helper, numpy_helper
from small_claims import Claimed, instances

from assay.proof import reader
from assay.proof import vnnlib as proof_vnnlib
from assay.proof.claim import Claim
from assay.proof.interval import Interval
from assay.proof.linear_attention import read_linear_attention
from assay.proof.rules.linear_attention import (
    Ends,
    _least_average,
    _share_ends,
    least_excesses,
    weight_ends,
)

SMALL = {"tokens": 3, "width": 2, "value": 2, "classes": 3, "epsilon": 0.05}


def robust(**knobs: object) -> Claimed:
    return Claimed.of(instances("linear_attention", **(SMALL | knobs))[0])


numbers = st.integers(-50, 50)
ends = st.tuples(st.integers(0, 9), st.integers(0, 9)).map(sorted)


@given(st.lists(st.tuples(numbers, ends), min_size=1, max_size=6))
def test_the_least_average_is_the_least_over_all_corners(rows: list[tuple[int, list[int]]]) -> None:
    values, least = [v for v, _ in rows], [e[0] + 1 for _, e in rows]
    most = [e[1] + 1 for _, e in rows]
    corners = product(*zip(least, most, strict=True))
    brute = min(
        Fraction(sum(w * v for w, v in zip(corner, values, strict=True)), sum(corner))
        for corner in corners
    )
    assert _least_average(values, least, most) == brute


@given(st.lists(ends, min_size=1, max_size=5))
def test_shares_lie_between_their_ends(row: list[list[int]]) -> None:
    least, most = [e[0] + 1 for e in row], [e[1] + 1 for e in row]
    found = _share_ends(Ends([least], [most]))
    for corner in product(*zip(least, most, strict=True)):
        for j, weight in enumerate(corner):
            share = Fraction(weight, sum(corner)) * 2**96
            assert found.low[0][j] <= share <= found.high[0][j]


@pytest.mark.parametrize("feature", ["relu", "squared_relu"])
def test_shares_lie_between_their_ends_and_excesses_above_their_bounds(feature: str) -> None:
    claim = robust(feature=feature)
    graph, question = reader.read(claim.onnx), proof_vnnlib.read(claim.vnnlib)
    network = read_linear_attention(graph)
    shared = _share_ends(weight_ends(network, Interval.of(question.lower, question.upper)))
    random = np.random.default_rng(0)
    constants = onnx.ModelProto.FromString(claim.onnx).graph.initializer
    arrays = {t.name: numpy_helper.to_array(t) for t in constants}
    least = least_excesses(Claim(question, graph, None))
    low, high = (np.array([float(v) for v in side]) for side in (question.lower, question.upper))
    for _ in range(50):
        corner = random.integers(0, 2, size=len(low))
        x = np.where(corner, high, low).reshape(3, 2)
        weights, outputs = plainly(x, arrays, feature)
        shares = weights / weights.sum(axis=1, keepdims=True)
        assert (shares >= np.array(shared.low, dtype=float) / 2**96 - 1e-9).all()
        assert (shares <= np.array(shared.high, dtype=float) / 2**96 + 1e-9).all()
        for ((inequality,)), bound in zip(question.disjuncts, least, strict=True):
            value = sum(float(c) * outputs[i] for i, c in inequality.coefficients)
            assert value >= float(bound) - 1e-6


def plainly(
    x: np.ndarray, arrays: dict[str, np.ndarray], feature: str
) -> tuple[np.ndarray, np.ndarray]:
    """The network in the plainest way, from the order in which its constants were written."""
    floats = [a.astype(float) for a in arrays.values() if a.dtype == np.float32]
    (wk, bk, ok, wq, bq, oq, wv, shift, head, bias) = floats
    raised = 2 if feature == "squared_relu" else 1
    keys = np.maximum(x @ wk + bk, 0) ** raised + ok
    queries = np.maximum(x @ wq + bq, 0) ** raised + oq
    weights = queries @ keys.T
    rows = weights @ (x @ wv) / weights.sum(axis=1, keepdims=True)
    return weights, head @ (rows.ravel() - shift.ravel()) + bias


def node(graph: onnx.GraphProto, operator: str) -> onnx.NodeProto:
    return next(n for n in graph.node if n.op_type == operator)


def negative_offset(graph: onnx.GraphProto) -> None:
    for tensor in graph.initializer:
        if not tensor.dims:
            tensor.raw_data = np.float32(-0.25).tobytes()


@pytest.mark.parametrize(
    "change",
    [
        lambda g: setattr(node(g, "Div"), "op_type", "Mul"),
        lambda g: setattr(node(g, "Sub"), "op_type", "Add"),
        lambda g: setattr(node(g, "Relu"), "op_type", "Abs"),
        lambda g: node(g, "Transpose").attribute[0].ints.__setitem__(0, 1),
        lambda g: setattr(node(g, "ReduceSum").attribute[0], "i", 0),
        lambda g: node(g, "ReduceSum").input.__setitem__(0, node(g, "Relu").output[0]),
        lambda g: setattr(node(g, "Gemm").attribute[0], "i", 0),
        lambda g: node(g, "MatMul").input.__setitem__(0, node(g, "Relu").output[0]),
        lambda g: node(g, "Flatten").attribute.append(helper.make_attribute("more", 1)),
        lambda g: node(g, "Sub").input.reverse(),
        negative_offset,
    ],
)
def test_other_graphs_are_not_verified(change: Callable[[onnx.GraphProto], None]) -> None:
    claim = robust()
    assert claim.verdict().status == "verified"
    model = onnx.ModelProto.FromString(claim.onnx)
    change(model.graph)
    spoiled = Claimed(model.SerializeToString(), claim.vnnlib, claim.truth).signed()
    assert spoiled.verdict().status != "verified"


def test_a_product_of_two_features_is_not_a_square() -> None:
    claim = robust(feature="squared_relu")
    model = onnx.ModelProto.FromString(claim.onnx)
    relus = [n.output[0] for n in model.graph.node if n.op_type == "Relu"]
    late = [n for n in model.graph.node if n.op_type == "Mul"][-1]
    late.input[0] = next(name for name in relus if name != late.input[0])
    verdict = Claimed(model.SerializeToString(), claim.vnnlib, claim.truth).signed().verdict()
    assert (verdict.status, "square" in verdict.reason) == ("unsupported", True)
