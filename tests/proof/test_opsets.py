"""The checker's table of operators against the standard's, and against what ONNX Runtime loads."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper
from small_claims import claimed, instances, model, question

from assay.proof.arithmetic import Rejected, Unsupported
from assay.proof.ball_operators import OPERATORS
from assay.proof.opsets import SIGNATURES, signature
from assay.proof.reader import Graph, read

node = helper.make_node
OPSETS = range(9, 22)
ATTRIBUTES: dict[str, Any] = {
    "alpha": 1.0,
    "beta": 1.0,
    "transA": 0,
    "transB": 0,
    "axis": 1,
    "keepdims": 1,
    "noop_with_empty_axes": 0,
    "perm": [0, 1],
    "allowzero": 0,
    "group": 1,
    "kernel_shape": [1, 1],
    "pads": [0, 0, 0, 0],
    "strides": [1, 1],
    "dilations": [1, 1],
    "ceil_mode": 0,
    "count_include_pad": 0,
    "axes": [1],
}


@pytest.mark.parametrize("operator", SIGNATURES)
def test_the_table_is_the_standard(operator: str) -> None:
    for opset in OPSETS:
        ours, standard = signature(operator, opset), onnx.defs.get_schema(operator, opset)
        assert ours is not None
        assert (ours.fewest, ours.most) == (standard.min_input, standard.max_input), opset
        assert ours.attributes == set(standard.attributes), opset


def test_every_operator_that_is_followed_has_its_rows() -> None:
    assert {*OPERATORS, "Identity", "Pow", "Add"} == set(SIGNATURES)
    assert signature("Max", 13) is None
    assert signature("Flatten", 8) is None


def loads(proto: onnx.ModelProto) -> str:
    """What ONNX Runtime has against a model."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    try:
        onnxruntime.InferenceSession(
            proto.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
    except Exception as error:
        return str(error)
    return ""


def reads(proto: onnx.ModelProto) -> Graph | None:
    try:
        return read(proto.SerializeToString())
    except (Rejected, Unsupported):
        return None


SHAPES = {"Conv": (1, 1, 2, 2), "AveragePool": (1, 1, 2, 2)}


@pytest.mark.parametrize("operator", SIGNATURES)
def test_nodes_that_onnx_runtime_calls_ill_formed_are_refused(operator: str) -> None:
    """All numbers of inputs and all attributes, around every opset that changes something."""
    shape = SHAPES.get(operator, (1, 2))
    others: list[Any] = [np.full(shape, 0.5, np.float32)] * 3
    if operator in ("Reshape", "ReduceSum"):
        others[0] = np.array([1, 2] if operator == "Reshape" else [1], np.int64)
    changes = {s.since for s in SIGNATURES[operator]} | {9, 13}
    refused = 0
    for opset in sorted({o for c in changes for o in (c - 1, c)} & set(OPSETS)):
        for count in range(1, 4):
            for name in (None, *ATTRIBUTES):
                given = {} if name is None else {name: ATTRIBUTES[name]}
                if operator == "AveragePool":
                    given["kernel_shape"] = [1, 1]
                inputs = ["x", *(f"c{i}" for i in range(count - 1))]
                constants = {f"c{i}": others[i] for i in range(count - 1)}
                proto = model([node(operator, inputs, ["y"], **given)], constants, shape, shape)
                proto.opset_import[0].version = opset
                if reads(proto) is None:
                    refused += 1
                    continue
                complaint = loads(proto)
                words = ("Unrecognized attribute", "not in range", "Invalid model")
                assert not any(w in complaint for w in words), (opset, inputs, given, complaint)
    assert refused


def gemm(*inputs: str, **attributes: Any) -> list[onnx.NodeProto]:
    return [node("Gemm", list(inputs), ["y"], name="g", **attributes)]


W, B, LAST = [[1, 0], [0, 1]], [3, 4], np.array([1], np.int64)
CONSTANTS = {"W": W, "b": B, "a": LAST}


def described(shape: tuple[int, ...], kind: int = TensorProto.FLOAT) -> onnx.ModelProto:
    nodes = [node("MatMul", ["x", "W"], ["m"]), node("Add", ["m", "b"], ["y"])]
    proto = model(nodes, CONSTANTS, (1, 2), (1, 2))
    proto.graph.value_info.append(helper.make_tensor_value_info("m", kind, shape))
    return proto


def twins(first: str, second: str) -> onnx.ModelProto:
    nodes = [
        node("MatMul", ["x", "W"], ["m"], name=first),
        node("Add", ["m", "b"], ["y"], name=second),
    ]
    return model(nodes, CONSTANTS, (1, 2), (1, 2))


def opset(version: int, *nodes: onnx.NodeProto, out: tuple[int, ...] = (1, 2)) -> onnx.ModelProto:
    proto = model(nodes, CONSTANTS, (1, 2), out)
    proto.opset_import[0].version = version
    return proto


def listed(shape: tuple[int, ...], kind: int = TensorProto.FLOAT) -> onnx.ModelProto:
    """A weight that is also an input, declared as something else."""
    proto = opset(13, *gemm("x", "W", "b"))
    proto.graph.input.append(helper.make_tensor_value_info("W", kind, shape))
    return proto


ONES = (1, 1)
HOSTILE = {
    "Gemm without C before 11": opset(10, *gemm("x", "W")),
    "Gemm with an empty C before 11": opset(9, *gemm("x", "W", "")),
    "ReduceSum with axes before 13": opset(12, node("ReduceSum", ["x", "a"], ["y"]), out=ONES),
    "ReduceSum with attribute from 13": opset(
        13, node("ReduceSum", ["x"], ["y"], axes=[1]), out=ONES
    ),
    "Relu with a second, empty input": opset(13, node("Relu", ["x", ""], ["y"])),
    "MatMul with transB": opset(13, node("MatMul", ["x", "W"], ["y"], transB=1)),
    "Reshape with allowzero before 14": opset(
        13, node("Reshape", ["x", "a"], ["y"], allowzero=0), out=ONES
    ),
    "Flatten with a negative axis before 11": opset(9, node("Flatten", ["x"], ["y"], axis=-1)),
    "Flatten at axis -2 before 11": opset(10, node("Flatten", ["x"], ["y"], axis=-2)),
    "two nodes of one name": twins("n", "n"),
    "another type of a result": described((1, 2), TensorProto.DOUBLE),
    "another type of a weight": listed((2, 2), TensorProto.DOUBLE),
}


@pytest.mark.parametrize("proto", HOSTILE.values(), ids=HOSTILE)
def test_files_that_onnx_runtime_refuses(proto: onnx.ModelProto) -> None:
    assert loads(proto)
    assert reads(proto) is None


RIGHT = {
    "Gemm without C from 11": opset(11, *gemm("x", "W")),
    "Gemm with an empty C": opset(13, *gemm("x", "W", "")),
    "ReduceSum with axes from 13": opset(13, node("ReduceSum", ["x", "a"], ["y"]), out=ONES),
    "Flatten with a negative axis from 11": opset(11, node("Flatten", ["x"], ["y"], axis=-1)),
    "Flatten with an axis before 11": opset(9, node("Flatten", ["x"], ["y"], axis=1)),
    "Softmax with a negative axis in 9": opset(9, node("Softmax", ["x"], ["y"], axis=-1)),
    "two names": twins("n", "m"),
    "no names": twins("", ""),
    "a description that fits": described((1, 2)),
    "a weight that is listed": listed((2, 2)),
}


@pytest.mark.parametrize("proto", RIGHT.values(), ids=RIGHT)
def test_files_that_both_read(proto: onnx.ModelProto) -> None:
    assert not loads(proto)
    assert reads(proto) is not None


@pytest.mark.parametrize("shape", [(2, 1), (1, 3), (2,), (1, 2, 1)])
def test_shapes_that_contradict_are_rejected(shape: tuple[int, ...]) -> None:
    """ONNX Runtime warns of some and refuses others; a proof is about none of them."""
    asked = question([(0, 1)] * 2, outputs=2, condition="(assert (<= Y_0 0))")
    for kind in ("contractive_cnn", "softmax_attention"):
        assert claimed(described((1, 2)), asked, kind=kind).verdict().status == "verified"
        assert claimed(described(shape), asked, kind=kind).verdict().status == "rejected"
    assert reads(listed(shape)) is None


def test_descriptions_of_what_is_not_there() -> None:
    proto = described((1, 2))
    proto.graph.value_info[0].name = "nothing"
    assert reads(proto) is None
    proto = described((1, 2))
    proto.graph.value_info.append(helper.make_tensor_value_info("m", 1, (1, 3)))
    assert reads(proto) is None


@pytest.mark.parametrize("family", ["linear_attention", "residual", "polynomial"])
def test_descriptions_that_no_rule_has_looked_at(family: str) -> None:
    """In every structure a shape that contradicts is noticed, or none is believed."""
    (made, *_) = (i for i in instances(family) if i.truth.answer == "robust")
    for name in [n.output[0] for n in onnx.ModelProto.FromString(made.onnx).graph.node[:-1]]:
        proto = onnx.ModelProto.FromString(made.onnx)
        proto.graph.value_info.append(helper.make_tensor_value_info(name, 1, (7, 7)))
        claim = claimed(
            proto, made.vnnlib, kind=made.truth.certificate["kind"], arrays=made.arrays
        ).stating(margin=str(made.truth.margin))
        assert claim.verdict().status in ("rejected", "unsupported"), name


def test_the_opset_of_a_genuine_file_is_not_negotiable() -> None:
    """A label of linear attention, whose ReduceSum takes axes as an input, under older opsets."""
    (made, *_) = (i for i in instances("linear_attention") if i.truth.answer == "robust")
    for version, wanted in ((13, "verified"), (12, "rejected"), (11, "rejected"), (9, "rejected")):
        proto = onnx.ModelProto.FromString(made.onnx)
        proto.opset_import[0].version = version
        claim = claimed(proto, made.vnnlib, kind="linear_attention")
        assert claim.stating(margin=str(made.truth.margin)).verdict().status == wanted
