"""The network's bytes: an ONNX graph of plain nodes with constant tensors.

What two readers could take for two networks is refused: fields that are unknown or stand there
twice (`wire`), data in two places, operators as their opset does not have them (`opsets`), names
of nodes or declared shapes that contradict each other. An initializer that is also listed as a
graph input is a constant here, as it is for every caller that feeds the one input that has no
default.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from math import prod
from typing import Any

from google.protobuf.message import DecodeError
from onnx import AttributeProto, ModelProto, NodeProto, TensorProto, ValueInfoProto

from assay.proof.arithmetic import Rejected, Unsupported, Vector, float32_vector
from assay.proof.opsets import signature
from assay.proof.wire import check_fields

_OPSETS, _IR_VERSIONS = range(9, 22), range(3, 14)
_MOST_BYTES, _MOST_NODES = 1 << 28, 10_000
_MOST_FIELDS, _LONGEST_LIST = 1 << 19, 1 << 16
_LARGEST_RANK = 8


@dataclass(frozen=True)
class Tensor:
    """A float32 constant; its elements in C order, decoded when they are needed."""

    name: str
    shape: tuple[int, ...]
    raw: bytes

    def values(self) -> Vector:
        return float32_vector(self.raw, f"initializer {self.name[:40]!a}")


@dataclass(frozen=True)
class Node:
    operator: str
    name: str
    inputs: tuple[str, ...]
    output: str
    attributes: dict[str, int]
    lists: dict[str, tuple[int, ...]]

    @property
    def permutation(self) -> tuple[int, ...]:
        """Of a Transpose that states one."""
        return self.lists.get("perm", ())

    def place(self) -> str:
        return f"node {(self.name or self.output)[:40]!a} ({self.operator[:40]!a})"


@dataclass(frozen=True)
class Graph:
    """One input, one output, nodes in an order in which each can be evaluated.

    `declared` are shapes that the file states of tensors in between.
    """

    input: str
    input_shape: tuple[int, ...]
    output: str
    output_shape: tuple[int, ...]
    constants: dict[str, Tensor]
    integers: dict[str, tuple[int, ...]]
    nodes: tuple[Node, ...]
    declared: dict[str, tuple[int, ...]]
    made: dict[object, Any] = field(default_factory=dict, compare=False, repr=False)
    """Layers made so far, for all nodes that share them."""

    def check_shape(self, name: str, shape: tuple[int, ...]) -> None:
        """Reject a shape that contradicts what the file declares."""
        if self.declared.get(name, shape) != shape:
            raise Rejected(f"{name[:40]!a} has shape {shape} and is declared otherwise")


def read(data: bytes) -> Graph:
    if len(data) > _MOST_BYTES:
        raise Unsupported("the ONNX file is larger than the checker reads")
    if data[4:8] == b"ORTM":
        raise Rejected("ONNX Runtime takes the ONNX file for a model in its own format")
    check_fields(data, ModelProto.DESCRIPTOR, most=_MOST_FIELDS, longest=_LONGEST_LIST)
    try:
        return _graph(ModelProto.FromString(data))
    except (DecodeError, UnicodeDecodeError):
        raise Rejected("the ONNX file is not an ONNX protobuf") from None


def _graph(model: ModelProto) -> Graph:
    opsets = [(entry.domain, entry.version) for entry in model.opset_import]
    if len(opsets) != 1 or opsets[0][0] not in ("", "ai.onnx"):
        raise Unsupported("the network does not import the standard operators alone")
    if opsets[0][1] not in _OPSETS or model.ir_version not in _IR_VERSIONS:
        raise Unsupported("the network's opset or IR version is not one that the checker knows")
    graph = model.graph
    if model.functions or graph.sparse_initializer or graph.quantization_annotation:
        raise Unsupported("the network uses functions, sparse tensors or quantisation")
    constants: dict[str, Tensor] = {}
    integers: dict[str, tuple[int, ...]] = {}
    for tensor in graph.initializer:
        place = f"initializer {tensor.name[:40]!a}"
        if not tensor.name or tensor.name in constants or tensor.name in integers:
            raise Rejected(f"{place} has no name or one that is taken")
        if tensor.data_type == TensorProto.INT64:
            integers[tensor.name] = _integers(tensor, place)
        else:
            constants[tensor.name] = _tensor(tensor, place)
    if any(not i.name for i in graph.input):
        raise Rejected("an input of the network has no name")
    known = {*constants, *integers}
    inputs = [i for i in graph.input if i.name not in known]
    if len(inputs) != 1 or len(graph.output) != 1 or len(graph.node) > _MOST_NODES:
        raise Unsupported("the network has not one input, one output and a modest number of nodes")
    known.add(inputs[0].name)
    nodes = tuple(_node(node, opsets[0][1]) for node in graph.node)
    names = [node.name for node in nodes if node.name]
    if len(names) != len(set(names)):
        raise Rejected("two nodes of the network have the same name")
    for node in nodes:
        if not known.issuperset(node.inputs):
            raise Rejected(f"{node.place()} reads something that nothing before it makes")
        if not node.output or node.output in known:
            raise Rejected(f"{node.place()} writes a tensor whose name is taken")
        known.add(node.output)
    ends = inputs[0], graph.output[0]
    shapes = [_shape(info) for info in ends]
    declared = {name: tensor.shape for name, tensor in constants.items()}
    declared |= {name: (len(values),) for name, values in integers.items()}
    declared |= {info.name: shape for info, shape in zip(ends, shapes, strict=True)}
    for info in (*graph.input, *graph.value_info):
        kind = TensorProto.INT64 if info.name in integers else TensorProto.FLOAT
        shape = _shape(info, kind)
        if declared.setdefault(info.name, shape) != shape or info.name not in known:
            raise Rejected(f"{info.name[:40]!a} is declared as another tensor than it is")
    return Graph(
        ends[0].name, shapes[0], ends[1].name, shapes[1], constants, integers, nodes, declared
    )


def _node(proto: NodeProto, opset: int) -> Node:
    place = f"node {proto.name[:40]!a} ({proto.op_type[:40]!a})"
    if proto.domain not in ("", "ai.onnx") or len(proto.output) != 1:
        raise Unsupported(f"{place} is not a plain ONNX operator with one output")
    standard = signature(proto.op_type, opset)
    if standard is None or "overload" in _stated(proto):
        raise Unsupported(f"{place} is not an operator that the checker follows")
    # an empty name at the end stands for an optional input that is left out
    names = list(proto.input)
    while names and not names[-1]:
        names.pop()
    if len(names) < standard.fewest or len(proto.input) > standard.most or "" in names:
        raise Rejected(f"{place} has other inputs than in opset {opset}")
    if not standard.attributes.issuperset(attribute.name for attribute in proto.attribute):
        raise Rejected(f"{place} has an attribute that opset {opset} does not know")
    attributes: dict[str, int] = {}
    lists: dict[str, tuple[int, ...]] = {}
    for attribute in proto.attribute:
        if attribute.name in attributes or attribute.name in lists:
            raise Rejected(f"{place} states {attribute.name[:40]!a} twice")
        if len(_stated(attribute) - {"name", "type", "doc_string"}) > 1:
            raise Rejected(f"{place} gives {attribute.name[:40]!a} two values")
        windowed = proto.op_type in ("Conv", "AveragePool")
        listed = windowed or (proto.op_type, attribute.name) == ("Transpose", "perm")
        if listed and attribute.type == AttributeProto.INTS and not attribute.ref_attr_name:
            lists[attribute.name] = tuple(attribute.ints[: 2 * _LARGEST_RANK])
            continue
        scale = attribute.name in ("alpha", "beta")
        if attribute.type != (AttributeProto.FLOAT if scale else AttributeProto.INT) or (
            attribute.ref_attr_name or (scale and attribute.f != 1)
        ):
            raise Unsupported(f"{place} has an attribute {attribute.name[:40]!a} of another kind")
        if not attribute.HasField("f" if scale else "i"):
            raise Rejected(f"{place} gives {attribute.name[:40]!a} no value")
        attributes[attribute.name] = 1 if scale else attribute.i
    if proto.op_type == "Flatten" and opset < 11 and attributes.get("axis", 1) < 0:
        raise Rejected(f"{place} counts its axis from the end, which opset {opset} does not know")
    return Node(proto.op_type, proto.name, tuple(names), proto.output[0], attributes, lists)


def _stated(message: Any) -> set[str]:
    """The names of the fields that a protobuf message holds."""
    return {field.name for field, _ in message.ListFields()}


def _shape(info: ValueInfoProto, kind: int = TensorProto.FLOAT) -> tuple[int, ...]:
    tensor = info.type.tensor_type
    if not info.type.HasField("tensor_type") or tensor.elem_type != kind:
        raise Unsupported(f"{info.name[:40]!a} is not a tensor of the type it must have")
    dims = [d.dim_value if d.HasField("dim_value") else 0 for d in tensor.shape.dim]
    if not tensor.HasField("shape") or len(dims) > _LARGEST_RANK or any(d <= 0 for d in dims):
        raise Unsupported(f"{info.name[:40]!a} has no static, positive shape")
    return tuple(dims)


def _tensor(tensor: TensorProto, place: str) -> Tensor:
    _refuse_elsewhere(tensor, place)
    if tensor.data_type != TensorProto.FLOAT:
        raise Unsupported(f"{place} is not float32 inside the file")
    dims = tuple(tensor.dims)
    if len(dims) > _LARGEST_RANK or any(d <= 0 for d in dims):
        raise Unsupported(f"{place} has no positive shape")
    raw = tensor.raw_data
    if _data_field(tensor, place) == "float_data":
        # protobuf hands float32 fields out as wider numbers; packing them back is lossless
        parts = (tensor.float_data[i : i + 4096] for i in range(0, len(tensor.float_data), 4096))
        raw = b"".join(struct.pack(f"<{len(part)}f", *part) for part in parts)
    if len(raw) != 4 * prod(dims):
        raise Rejected(f"{place} has {len(raw)} bytes for shape {dims}")
    return Tensor(tensor.name, dims, raw)


def _integers(tensor: TensorProto, place: str) -> tuple[int, ...]:
    """The entries of an INT64 list, such as the target of a Reshape."""
    _refuse_elsewhere(tensor, place)
    _data_field(tensor, place)
    raw, listed = tensor.raw_data, tuple(tensor.int64_data[: _LARGEST_RANK + 1])
    words = [raw[i : i + 8] for i in range(0, min(len(raw), 8 * _LARGEST_RANK + 1), 8)]
    values = (*(int.from_bytes(word, "little", signed=True) for word in words), *listed)
    short = len(values) <= _LARGEST_RANK and len(raw) % 8 == 0
    if not short or list(tensor.dims) != [len(values)]:
        raise Unsupported(f"{place} is not a short list of integers inside the file")
    return values


def _data_field(tensor: TensorProto, place: str) -> str:
    """The one field that holds a tensor's data."""
    typed = "int64_data" if tensor.data_type == TensorProto.INT64 else "float_data"
    found = {name for name in _stated(tensor) if name.endswith("_data")} - {"external_data"}
    if not found or not found <= {typed, "raw_data"} or len(found) > 1:
        raise Rejected(f"{place} has no data, or data in two places or in another type's")
    return found.pop()


def _refuse_elsewhere(tensor: TensorProto, place: str) -> None:
    """Where the data is not, or not only, in the fields that are read."""
    external = tensor.data_location == TensorProto.EXTERNAL or tensor.external_data
    if external or tensor.HasField("segment"):
        raise Unsupported(
            f"{place} has its data in another file, which is not read; save the model as a single "
            "file (`assay import` does)"
        )
