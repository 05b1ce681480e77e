"""Bytes that are two networks, or none, to the next reader."""

from __future__ import annotations

from collections.abc import Callable

import onnx
import pytest
from google.protobuf.message import DecodeError
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper
from small_claims import CONCAVE, SQUARE, claimed, network, question

from assay.errors import BadInput
from assay.proof.arithmetic import Rejected, Unsupported
from assay.proof.reader import read
from assay.proof.wire import check_fields
from assay.question.network import load

Message = onnx.ModelProto
PLAIN = network(CONCAVE)


def walk(data: bytes) -> None:
    check_fields(data, onnx.ModelProto.DESCRIPTOR, most=1000, longest=100)


def varint(value: int) -> bytes:
    head = b""
    while value > 127:
        head, value = head + bytes([value & 127 | 128]), value >> 7
    return head + bytes([value])


def field(number: int, content: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(content)) + content


def test_plain_files_pass() -> None:
    assert claimed(PLAIN, question(SQUARE), margin="3").verdict().status == "verified"
    walk(PLAIN.SerializeToString())
    walk(b"")


PARTS: dict[str, Callable[[onnx.ModelProto], Message]] = {
    "model": lambda p: p,
    "opset": lambda p: p.opset_import[0],
    "graph": lambda p: p.graph,
    "node": lambda p: p.graph.node[0],
    "attribute": lambda p: p.graph.node[0].attribute[0],
    "tensor": lambda p: p.graph.initializer[0],
    "input": lambda p: p.graph.input[0],
    "type": lambda p: p.graph.input[0].type,
    "tensor type": lambda p: p.graph.input[0].type.tensor_type,
    "shape": lambda p: p.graph.input[0].type.tensor_type.shape,
    "dimension": lambda p: p.graph.input[0].type.tensor_type.shape.dim[0],
}


@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)
def test_an_unknown_field_anywhere(part: Callable[[onnx.ModelProto], Message]) -> None:
    """Protobuf readers drop it; it can hold a whole other network."""
    proto = network(CONCAVE)
    part(proto).MergeFromString(field(1000, b"ORTM and so on"))
    verdict = claimed(proto, question(SQUARE), margin="3").verdict()
    assert verdict.status == "rejected"
    assert "unknown field 1000" in verdict.reason
    with pytest.raises(BadInput, match=r"n\.onnx: .*unknown field 1000.*; export the model again"):
        load(proto.SerializeToString(), "n.onnx")


def test_a_file_that_onnx_runtime_reads_from_memory_as_another_format() -> None:
    """Known fields can hold a flatbuffer as well; its mark at byte 4 is what counts there."""
    marked = field(2, b"ORTM").join([b"\x08\x08", b""]) + field(6, b"a flatbuffer")
    proto = network(CONCAVE)
    proto.ClearField("ir_version")
    data = marked + proto.SerializeToString()
    assert data[4:8] == b"ORTM"
    walk(data)
    verdict = claimed(data, question(SQUARE), margin="3").verdict()
    assert (verdict.status, "own format" in verdict.reason) == ("rejected", True)
    with pytest.raises(BadInput, match=r"n\.onnx: .*own format"):
        load(data, "n.onnx")


def doubled_in_a_node(number: int, content: bytes) -> bytes:
    """The plain network; a field is added to its first node, before those that it has."""
    proto = network(CONCAVE)
    first = proto.graph.node.pop(0).SerializeToString()
    others = [node.SerializeToString() for node in proto.graph.node]
    nodes = [field(number, content) + first, *others]
    proto.graph.ClearField("node")
    graph = proto.graph.SerializeToString()
    proto.ClearField("graph")
    return proto.SerializeToString() + field(7, b"".join(field(1, n) for n in nodes) + graph)


def test_the_builder_of_the_next_test_adds_one_field_only() -> None:
    assert read(doubled_in_a_node(6, b"a text")).nodes == read(PLAIN.SerializeToString()).nodes


OTHER = network([([[1, 0], [0, 1]], [0, 0]), ([[-1, -1], [0, 0]], [50, 0])])


@pytest.mark.parametrize(
    "data",
    [
        PLAIN.SerializeToString() + b"\x08\x07",
        b"\x08\x07" + PLAIN.SerializeToString(),
        field(7, b"") + PLAIN.SerializeToString(),
        field(7, OTHER.graph.SerializeToString()) + PLAIN.SerializeToString(),
        doubled_in_a_node(4, b"Conv"),
        doubled_in_a_node(3, b"another name") + b"\x08\x08",
    ],
)
def test_fields_that_stand_there_twice(data: bytes) -> None:
    verdict = claimed(data, question(SQUARE), margin="3").verdict()
    assert (verdict.status, "twice" in verdict.reason) == ("rejected", True)
    with pytest.raises(BadInput, match="twice"):
        load(data, "n.onnx")


def test_alternatives_beside_each_other() -> None:
    dimension = b"\x08\x02" + field(2, b"n")
    with pytest.raises(Rejected, match="alternative"):
        check_fields(dimension, onnx.TensorShapeProto.Dimension.DESCRIPTOR, most=9, longest=9)


def _unknown_location(proto: onnx.ModelProto) -> None:
    proto.graph.initializer[0].MergeFromString(b"\x70\x07")


def _unknown_type(proto: onnx.ModelProto) -> None:
    proto.graph.node[1].attribute.add(name="axis").MergeFromString(b"\xa0\x01\x63")


@pytest.mark.parametrize("change", [_unknown_location, _unknown_type])
def test_values_without_a_meaning(change: Callable[[onnx.ModelProto], None]) -> None:
    proto = network(CONCAVE)
    change(proto)
    with pytest.raises(Rejected, match="without a meaning"):
        read(proto.SerializeToString())


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"\x08\x88\x00", Rejected),  # 8 with a zero after it
        (b"\x88\x00\x08", Rejected),
        (b"\x12\x84\x00ORTM", Rejected),
        (b"\x08" + b"\xff" * 9 + b"\x01", None),
        (b"\x08" + b"\xff" * 9 + b"\x02", Rejected),
        (b"\x08" + b"\xff" * 10 + b"\x01", Rejected),
        (b"\x08", Rejected),
        (b"\x08\x80", Rejected),
        (b"\x12\x05abcd", Rejected),
        (b"\x0d\0\0\0\0", Rejected),  # the version as a word
        (b"\x0a\x01\x08", Rejected),  # the version as a list
        (b"\x0b\x0c", Rejected),  # a group
        (b"\x0f", Rejected),
        (field(7, b"") * 2, Rejected),
        (field(14, b"") * 999, None),
        (field(14, b"") * 1001, Unsupported),
        (field(7, field(5, field(7, b"\x01" * 100))), None),
        (field(7, field(5, field(7, b"\x01" * 101))), Unsupported),
    ],
)
def test_forms_of_fields(data: bytes, error: type[Exception] | None) -> None:
    if error is None:
        walk(data)
        return
    with pytest.raises(error):
        walk(data)


def test_a_field_of_the_wrong_length_inside() -> None:
    with pytest.raises(Rejected, match="ends inside"):
        walk(field(7, b"\x12\x05abcd") + b"zzzzz")


def test_nesting_beyond_reason() -> None:
    data = b""
    for _ in range(40):
        data = field(1, field(5, field(6, data)))
    with pytest.raises(Unsupported, match="nested"):
        walk(field(7, data))


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_what_passes_has_nothing_that_protobuf_would_drop(data: st.DataObject) -> None:
    raw = bytearray(PLAIN.SerializeToString())
    for _ in range(data.draw(st.integers(1, 3))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    try:
        walk(bytes(raw))
    except (Rejected, Unsupported):
        return
    try:
        parsed = onnx.ModelProto.FromString(bytes(raw))
    except DecodeError:
        return
    size = parsed.ByteSize()
    parsed.DiscardUnknownFields()
    assert parsed.ByteSize() == size


def _tensor(**fields: object) -> TensorProto:
    return TensorProto(name="s", dims=[2], data_type=TensorProto.INT64, **fields)


RAW = (1).to_bytes(8, "little")


@pytest.mark.parametrize(
    "tensor",
    [
        _tensor(raw_data=RAW, int64_data=[2]),
        _tensor(raw_data=RAW * 2, int64_data=[1, 2]),
        _tensor(raw_data=RAW * 2, int32_data=[1, 2]),
        _tensor(int64_data=[1, 2], float_data=[1, 2]),
        _tensor(int32_data=[1, 2]),
        TensorProto(name="s", dims=[1], data_type=1, raw_data=b"\0" * 4, int32_data=[0]),
        TensorProto(name="s", dims=[1], data_type=1, float_data=[1], double_data=[2]),
        TensorProto(name="s", dims=[1], data_type=1, raw_data=b"\0" * 4, string_data=[b"a"]),
    ],
)
def test_data_in_two_places(tensor: TensorProto) -> None:
    proto = network(CONCAVE)
    proto.graph.initializer.append(tensor)
    with pytest.raises(Rejected, match="data in two places"):
        read(proto.SerializeToString())
    with pytest.raises(BadInput, match=r"n\.onnx: initializer 's': .*; export the model again"):
        load(proto.SerializeToString(), "n.onnx")


def test_an_attribute_with_two_values() -> None:
    proto = network(CONCAVE)
    proto.graph.node[0].attribute[0].f = 0.0
    with pytest.raises(Rejected, match="two values"):
        read(proto.SerializeToString())
    proto.graph.node[0].attribute[0].CopyFrom(onnx.AttributeProto(name="transB", type=2))
    with pytest.raises(Rejected, match="no value"):
        read(proto.SerializeToString())
    proto.graph.node[0].attribute[0].CopyFrom(helper.make_attribute("transB", 1))
    read(proto.SerializeToString())


def test_numbers_of_a_packed_list_are_written_in_the_shortest_way() -> None:
    """The dimensions of a tensor, packed: 2 in one byte and in two."""

    def dims(content: bytes) -> bytes:
        return field(7, field(5, field(1, content)))

    walk(dims(b"\x02\x80\x01"))
    walk(dims(b"\xff" * 9 + b"\x01"))
    with pytest.raises(Rejected, match=r"'dims' of a TensorProto .* shortest form"):
        walk(dims(b"\x02\x82\x00\x02"))
