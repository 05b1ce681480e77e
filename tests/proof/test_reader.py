"""Graphs the checker reads, graphs it refuses, and what its reading means."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper
from small_claims import CONCAVE, model, network, outputs

from assay.proof.arithmetic import Rejected, Unsupported, Vector
from assay.proof.chain import read_chain
from assay.proof.reader import read
from assay.question.exact import evaluate
from assay.question.network import load

F = Fraction
POINT = [F(1, 3), F(-2, 7)]
node = helper.make_node


def value(proto: onnx.ModelProto | bytes, point: list[Fraction] | None = None) -> list[Fraction]:
    """The outputs at a point, as the checker reads the network."""
    data = proto if isinstance(proto, bytes) else proto.SerializeToString()
    return read_chain(read(data)).outputs(Vector.of(point or POINT)).fractions()


def other_value(proto: onnx.ModelProto) -> list[Fraction]:
    """The same by the other reader and its exact evaluation."""
    return evaluate(load(proto.SerializeToString(), "n.onnx"), POINT)


RIGHT = value(network(CONCAVE))


def test_the_plain_network() -> None:
    assert RIGHT == outputs(CONCAVE, POINT) == other_value(network(CONCAVE))


W, B = np.array([[1, 2], [3, 4]], np.float32), np.array([5, 6], np.float32)
HEAD = {"W": W, "b": B, "V": W}


def affine(
    *nodes: onnx.NodeProto, shape: tuple[int, ...] = (1, 2), **more: object
) -> onnx.ModelProto:
    return model(nodes, {**HEAD, **more}, shape, (1, 2))


@pytest.mark.parametrize(
    "proto",
    [
        affine(node("Gemm", ["x", "W", "b"], ["y"])),
        affine(node("Gemm", ["x", "W", "b"], ["y"], transB=1)),
        affine(node("Gemm", ["x", "W", "b"], ["y"], alpha=1.0, beta=1.0, transA=0, transB=0)),
        affine(node("Gemm", ["x", "W"], ["y"])),
        affine(node("Gemm", ["x", "W", ""], ["y"])),
        affine(node("Gemm", ["x", "W", "c"], ["y"]), c=[3]),
        affine(node("Gemm", ["x", "W", "c"], ["y"]), c=[[3, 4]]),
        affine(node("Gemm", ["x", "W", "c"], ["y"]), c=np.array(3, np.float32)),
        affine(node("MatMul", ["x", "W"], ["y"])),
        affine(node("MatMul", ["x", "W"], ["m"]), node("Add", ["m", "b"], ["y"])),
        affine(node("MatMul", ["x", "W"], ["m"]), node("Add", ["b", "m"], ["y"])),
        affine(node("MatMul", ["x", "W"], ["m"]), node("Add", ["m", "c"], ["y"]), c=[[7]]),
        affine(
            node("Flatten", ["x"], ["f"]), node("Gemm", ["f", "W", "b"], ["y"]), shape=(1, 2, 1)
        ),
        affine(
            node("Flatten", ["x"], ["f"], axis=-3),
            node("Gemm", ["f", "W", "b"], ["y"]),
            shape=(1, 2, 1),
        ),
        affine(
            node("Reshape", ["x", "s"], ["f"]),
            node("Gemm", ["f", "W", "b"], ["y"]),
            shape=(1, 2, 1),
            s=np.array([0, -1], np.int64),
        ),
        affine(
            node("Reshape", ["x", "s"], ["f"]),
            node("Identity", ["f"], ["i"]),
            node("Gemm", ["i", "W", "b"], ["y"]),
            shape=(2,),
            s=np.array([1, 2], np.int64),
        ),
        affine(
            node("Gemm", ["x", "W", "b"], ["a"]),
            node("Relu", ["a"], ["r"]),
            node("Gemm", ["r", "V", "b"], ["y"], transB=1),
        ),
    ],
)
def test_right_graphs_mean_what_the_other_reader_says(proto: onnx.ModelProto) -> None:
    assert value(proto) == other_value(proto)


INTS = np.array([1, 2], np.int64)


@pytest.mark.parametrize(
    "proto",
    [
        affine(node("Gemm", ["x", "W", "b"], ["y"], alpha=2.0)),
        affine(node("Gemm", ["x", "W", "b"], ["y"], beta=0.5)),
        affine(node("Gemm", ["x", "W", "b"], ["y"], alpha=1)),
        affine(node("Gemm", ["x", "W", "b"], ["y"], transB=1.0)),
        affine(node("Gemm", ["x", "W", "b"], ["y"], transB=2)),
        affine(node("Gemm", ["x", "W", "b"], ["y"], transA=1)),
        affine(node("Gemm", ["x", "W", "b"], ["y"], strange=1)),
        affine(node("Gemm", ["W", "x", "b"], ["y"])),
        affine(node("Gemm", ["x", "W", "x"], ["y"])),
        affine(node("Gemm", ["x", "W", "b", "b"], ["y"])),
        affine(node("Gemm", ["x", "", "W"], ["y"])),
        affine(node("Gemm", ["x"], ["y"])),
        affine(node("Gemm", [], ["y"])),
        affine(node("Gemm", ["x", "b"], ["y"])),
        affine(node("Gemm", ["x", "s"], ["y"]), s=INTS),
        affine(node("Gemm", ["x", "W", "s"], ["y"]), s=INTS),
        affine(node("Gemm", ["s", "W", "b"], ["y"]), s=INTS),
        affine(node("Gemm", ["x", "W", "c"], ["y"]), c=[[3], [4]]),
        affine(node("Gemm", ["x", "W", "c"], ["y"]), c=[[[3, 4]]]),
        affine(node("Gemm", ["x", "T", "b"], ["y"]), T=[[1, 2, 3], [4, 5, 6], [7, 8, 9]]),
        affine(node("MatMul", ["x", "W", "b"], ["y"])),
        affine(node("MatMul", ["x", "W"], ["y"], transB=1)),
        affine(node("Add", ["x", "b"], ["a"]), node("MatMul", ["a", "W"], ["y"])),
        affine(node("Gemm", ["x", "W", "b"], ["a"]), node("Add", ["a", "b"], ["y"])),
        affine(node("Gemm", ["x", "W", "b"], ["a"]), node("Gemm", ["a", "V", "b"], ["y"])),
        affine(node("MatMul", ["x", "W"], ["a"]), node("Add", ["a", "a"], ["y"])),
        affine(node("MatMul", ["x", "W"], ["a"]), node("Add", ["a", "x"], ["y"])),
        affine(node("MatMul", ["x", "W"], ["a"]), node("Add", ["a", "c"], ["y"]), c=[[1], [2]]),
        affine(node("MatMul", ["x", "W"], ["a"]), node("Add", ["a", "s"], ["y"]), s=INTS),
        affine(node("MatMul", ["x", "W"], ["a"]), node("Add", ["a", "b", "b"], ["y"])),
        affine(node("MatMul", ["x", "W"], ["a"]), node("Add", ["a", "b"], ["y"], axis=1)),
        affine(node("Relu", ["x"], ["r"]), node("Gemm", ["r", "W", "b"], ["y"])),
        affine(node("Gemm", ["x", "W", "b"], ["a"]), node("Relu", ["a"], ["y"])),
        affine(node("Gemm", ["x", "W", "b"], ["a"]), node("Relu", ["a"], ["r"], axis=1)),
        affine(node("Gemm", ["x", "W", "b"], ["y"]), node("Relu", ["y"], ["r"])),
        affine(node("Gemm", ["x", "W", "b"], ["a"]), node("Relu", ["a", "s"], ["y"]), s=INTS),
        affine(node("Flatten", ["s"], ["f"]), node("Gemm", ["x", "W", "b"], ["y"]), s=INTS),
        affine(node("Identity", ["s"], ["f"]), node("Gemm", ["x", "W", "b"], ["y"]), s=INTS),
        affine(node("Flatten", ["x"], ["f"], axis=3), node("Gemm", ["f", "W", "b"], ["y"])),
        affine(node("Flatten", ["x"], ["f"], axis=[1]), node("Gemm", ["f", "W", "b"], ["y"])),
        affine(node("Flatten", ["x"], ["f"], axis="1"), node("Gemm", ["f", "W", "b"], ["y"])),
        affine(node("Flatten", ["x"], ["f"], axis=2), node("Gemm", ["f", "W", "b"], ["y"])),
        affine(node("Reshape", ["x", "s"], ["f"], allowzero=1), s=INTS),
        affine(node("Reshape", ["x", "s"], ["f"]), node("Gemm", ["f", "W"], ["y"]), s=INTS * 2),
        affine(node("Reshape", ["x", "s"], ["f"]), node("Gemm", ["f", "W"], ["y"]), s=INTS * -1),
        affine(node("Reshape", ["x", "b"], ["f"]), node("Gemm", ["f", "W"], ["y"])),
        affine(node("Reshape", ["s", "x"], ["f"]), node("Gemm", ["f", "W"], ["y"]), s=INTS),
        affine(node("Dropout", ["x"], ["f"]), node("Gemm", ["f", "W"], ["y"])),
        affine(node("Sub", ["x", "b"], ["y"])),
        affine(node("Gemm", ["x", "W", "b"], ["y", "second"])),
        affine(node("Gemm", ["x", "W", "b"], ["y"], domain="com.other")),
        affine(node("If", ["x"], ["y"], then_branch=helper.make_graph([], "t", [], []))),
        affine(),
    ],
)
def test_other_graphs_are_refused(proto: onnx.ModelProto) -> None:
    with pytest.raises((Rejected, Unsupported)):
        value(proto)


Change = Callable[[onnx.ModelProto], None]


def changed(change: Change) -> onnx.ModelProto:
    proto = network(CONCAVE)
    change(proto)
    return proto


def listed_as_input(proto: onnx.ModelProto) -> None:
    info = helper.make_tensor_value_info("b0", TensorProto.FLOAT, (2,))
    proto.graph.input.append(info)


def as_float_data(proto: onnx.ModelProto) -> None:
    tensor = proto.graph.initializer[0]
    tensor.float_data.extend(numpy_helper.to_array(tensor).ravel())
    tensor.ClearField("raw_data")


@pytest.mark.parametrize("change", [listed_as_input, as_float_data])
def test_other_spellings_of_the_same_network(change: Change) -> None:
    assert value(changed(change)) == RIGHT


def _external(proto: onnx.ModelProto) -> None:
    proto.graph.initializer[0].external_data.add(key="location", value="elsewhere")


def _shapeless(proto: onnx.ModelProto) -> None:
    proto.graph.output[0].type.tensor_type.ClearField("shape")


def _dim(value: int, of_input: bool = True) -> Change:
    def change(proto: onnx.ModelProto) -> None:
        info = proto.graph.input[0] if of_input else proto.graph.output[0]
        info.type.tensor_type.shape.dim[1].dim_value = value

    return change


CHANGES: dict[str, Change] = {
    "no opset": lambda p: p.ClearField("opset_import"),
    "two opsets": lambda p: p.opset_import.append(helper.make_opsetid("ai.onnx", 9)),
    "another domain": lambda p: p.opset_import.append(helper.make_opsetid("ai.onnx.ml", 1)),
    "old opset": lambda p: setattr(p.opset_import[0], "version", 8),
    "new opset": lambda p: setattr(p.opset_import[0], "version", 22),
    "no IR version": lambda p: p.ClearField("ir_version"),
    "future IR version": lambda p: setattr(p, "ir_version", 99),
    "function": lambda p: p.functions.add(name="f"),
    "sparse": lambda p: p.graph.sparse_initializer.add(),
    "quantised": lambda p: p.graph.quantization_annotation.add(),
    "second input": lambda p: p.graph.input.append(p.graph.input[0]),
    "free input": lambda p: p.graph.input.add(name="free"),
    "nameless input": lambda p: setattr(p.graph.input[0], "name", ""),
    "no output": lambda p: p.graph.ClearField("output"),
    "second output": lambda p: p.graph.output.append(p.graph.output[0]),
    "output is hidden": lambda p: setattr(p.graph.output[0], "name", "s0"),
    "output is the input": lambda p: setattr(p.graph.output[0], "name", "x"),
    "output is a constant": lambda p: setattr(p.graph.output[0], "name", "b1"),
    "output is unknown": lambda p: setattr(p.graph.output[0], "name", "nothing"),
    "output without shape": _shapeless,
    "symbolic input": lambda p: setattr(
        p.graph.input[0].type.tensor_type.shape.dim[1], "dim_param", "n"
    ),
    "input in double": lambda p: setattr(p.graph.input[0].type.tensor_type, "elem_type", 11),
    "input of another size": _dim(3),
    "input of negative size": _dim(-2),
    "input of huge size": _dim(1 << 62),
    "output of another size": _dim(3, of_input=False),
    "high rank": lambda p: p.graph.input[0].type.tensor_type.shape.dim.extend(
        [onnx.TensorShapeProto.Dimension(dim_value=1)] * 9
    ),
    "weight twice": lambda p: p.graph.initializer.append(p.graph.initializer[0]),
    "nameless weight": lambda p: setattr(p.graph.initializer[0], "name", ""),
    "weight is the input": lambda p: setattr(p.graph.initializer[0], "name", "x"),
    "weight is a result": lambda p: setattr(p.graph.initializer[0], "name", "s0"),
    "weight in double": lambda p: setattr(p.graph.initializer[0], "data_type", TensorProto.DOUBLE),
    "weight as integers": lambda p: setattr(p.graph.initializer[0], "data_type", TensorProto.INT64),
    "weight outside": _external,
    "weight located outside": lambda p: setattr(p.graph.initializer[0], "data_location", 1),
    "weight in segments": lambda p: p.graph.initializer[0].segment.SetInParent(),
    "weight too short": lambda p: setattr(p.graph.initializer[0], "raw_data", b"\0" * 12),
    "weight too long": lambda p: setattr(p.graph.initializer[0], "raw_data", b"\0" * 20),
    "weight given twice": lambda p: p.graph.initializer[0].float_data.append(1),
    "weight of rank 3": lambda p: p.graph.initializer[0].dims.append(1),
    "weight of rank 1": lambda p: p.graph.initializer[0].dims.__setitem__(slice(None), [4]),
    "weight of no size": lambda p: p.graph.initializer[0].dims.append(0),
    "weight of negative size": lambda p: p.graph.initializer[0].dims.extend([-1, -1]),
    "weight with NaN": lambda p: setattr(
        p.graph.initializer[0], "raw_data", np.array([1, 0, 0, np.nan], np.float32).tobytes()
    ),
    "nodes in another order": lambda p: (p.graph.node.append(p.graph.node[0]), p.graph.node.pop(0)),
    "a node twice": lambda p: p.graph.node.append(p.graph.node[0]),
    "an unused node": lambda p: p.graph.node.append(node("Relu", ["s0"], ["unused"])),
    "a shortcut": lambda p: p.graph.node[2].input.__setitem__(0, "s0"),
    "an attribute twice": lambda p: p.graph.node[0].attribute.append(p.graph.node[0].attribute[0]),
    "an attribute by reference": lambda p: setattr(
        p.graph.node[0].attribute[0], "ref_attr_name", "r"
    ),
    "a shadowed name": lambda p: p.graph.node[1].output.__setitem__(0, "s0"),
    "a nameless result": lambda p: p.graph.node[1].output.__setitem__(0, ""),
    "many nodes": lambda p: p.graph.node.extend([node("Identity", ["y"], ["z"])] * 10_001),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_changed_files_are_refused(change: Change) -> None:
    proto = changed(change)
    with pytest.raises((Rejected, Unsupported)):
        value(proto)


def test_data_in_another_file_is_refused_with_a_remedy() -> None:
    with pytest.raises(Unsupported, match=r"data in another file.*single file \(`assay import`"):
        value(changed(_external))


@pytest.mark.parametrize("data", [b"", b"\xff", b"not a protobuf", bytes(100), b"\x0a" * 50])
def test_other_bytes_are_refused(data: bytes) -> None:
    with pytest.raises((Rejected, Unsupported)):
        value(data)


@pytest.mark.timeout(120)  # a hang
def test_long_integer_lists_end_soon() -> None:
    endless = helper.make_tensor("s", TensorProto.INT64, [200_000], [1 << 62] * 200_000)
    proto = affine(node("Reshape", ["x", "s"], ["f"]), node("Gemm", ["f", "W", "b"], ["y"]))
    proto.graph.initializer.append(endless)
    with pytest.raises(Unsupported):
        value(proto)


def test_names_of_the_file_cannot_forge_a_line() -> None:
    proto = network(CONCAVE)
    proto.graph.node[1].op_type = "Softmax\ns VERIFIED robust"
    proto.graph.node[1].name = "\u2028\nx" * 100
    with pytest.raises(Unsupported) as caught:
        value(proto)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 400


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_random_bytes_in_a_file_give_a_verdict_or_a_network(data: st.DataObject) -> None:
    raw = bytearray(network(CONCAVE).SerializeToString())
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    try:
        found = value(bytes(raw))
    except (Rejected, Unsupported):
        return
    assert len(found) == 2
