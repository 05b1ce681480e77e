"""The network's bytes: an ONNX graph of plain nodes with exact constant tensors."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from math import prod
from sys import byteorder
from typing import Any

from google.protobuf.message import DecodeError
from onnx import AttributeProto, ModelProto, TensorProto, ValueInfoProto

from assay.proof.arithmetic import Rejected, Unsupported, Vector, float32_numerators

OLDEST_OPSET, NEWEST_OPSET = 9, 21
MOST_ELEMENTS = 1 << 27


@dataclass(frozen=True)
class Tensor:
    """An exact tensor; its elements in C order."""

    shape: tuple[int, ...]
    values: Vector


@dataclass(frozen=True)
class Node:
    operator: str
    name: str
    inputs: tuple[str, ...]
    output: str
    attributes: dict[str, Any]

    def place(self) -> str:
        return f"{self.operator} node {self.name or self.output!r}"


@dataclass(frozen=True)
class Graph:
    """One input, one output, nodes in an order in which each can be evaluated."""

    input: str
    input_shape: tuple[int, ...]
    output: str
    output_shape: tuple[int, ...]
    constants: dict[str, Tensor]
    integers: dict[str, tuple[int, ...]]
    nodes: tuple[Node, ...]


def read(data: bytes) -> Graph:
    try:
        model = ModelProto.FromString(data)
    except DecodeError:
        raise Rejected("the ONNX file is not an ONNX protobuf") from None
    _check_model(model)
    graph = model.graph
    constants: dict[str, Tensor] = {}
    integers: dict[str, tuple[int, ...]] = {}
    for tensor in graph.initializer:
        if not tensor.name or tensor.name in constants or tensor.name in integers:
            raise Rejected(f"initializer {tensor.name!r} has no name or one that is taken")
        if tensor.data_type == TensorProto.INT64:
            integers[tensor.name] = _integers(tensor)
        else:
            constants[tensor.name] = _tensor(tensor)
    inputs = [i for i in graph.input if i.name not in constants and i.name not in integers]
    if len(inputs) != 1 or len(graph.output) != 1:
        raise Unsupported("the network has not exactly one input and one output")
    known = {inputs[0].name} | set(constants) | set(integers)
    nodes = []
    for proto in graph.node:
        if proto.domain not in ("", "ai.onnx") or len(proto.output) != 1:
            raise Unsupported(f"node {proto.name!r} is not a plain ONNX operator with one output")
        attributes: dict[str, Any] = {}
        for attribute in proto.attribute:
            if attribute.name in attributes:
                raise Rejected(f"node {proto.name!r} states {attribute.name!r} twice")
            attributes[attribute.name] = _attribute(attribute, proto.name)
        node = Node(proto.op_type, proto.name, tuple(proto.input), proto.output[0], attributes)
        for name in node.inputs:
            if name not in known:
                raise Rejected(f"{node.place()} reads {name!r}, which nothing before it makes")
        if not node.output or node.output in known:
            raise Rejected(f"{node.place()} writes {node.output!r}, a name that is taken")
        known.add(node.output)
        nodes.append(node)
    return Graph(
        inputs[0].name,
        _shape(inputs[0]),
        graph.output[0].name,
        _shape(graph.output[0]),
        constants,
        integers,
        tuple(nodes),
    )


def _check_model(model: ModelProto) -> None:
    opsets = {entry.domain: entry.version for entry in model.opset_import}
    if len(opsets) != len(model.opset_import) or set(opsets) - {"", "ai.onnx"} or not opsets:
        raise Unsupported("the network imports operators beyond the standard set")
    if not all(OLDEST_OPSET <= version <= NEWEST_OPSET for version in opsets.values()):
        raise Unsupported(f"the opset is not between {OLDEST_OPSET} and {NEWEST_OPSET}")
    if model.functions or model.graph.sparse_initializer or model.graph.quantization_annotation:
        raise Unsupported("the network uses functions, sparse tensors or quantisation")


def _shape(info: ValueInfoProto) -> tuple[int, ...]:
    tensor = info.type.tensor_type
    if not info.type.HasField("tensor_type") or tensor.elem_type != TensorProto.FLOAT:
        raise Unsupported(f"{info.name!r} is not a float32 tensor")
    dims = tuple(
        d.dim_value if d.WhichOneof("value") == "dim_value" else 0 for d in tensor.shape.dim
    )
    return _positive(dims, info.name)


def _positive(dims: tuple[int, ...], name: str) -> tuple[int, ...]:
    if any(d <= 0 for d in dims) or len(dims) > 8 or prod(dims) > MOST_ELEMENTS:
        raise Unsupported(f"{name!r} has no static, positive shape of reasonable size")
    return dims


def _tensor(tensor: TensorProto) -> Tensor:
    if tensor.data_type != TensorProto.FLOAT or tensor.data_location == TensorProto.EXTERNAL:
        raise Unsupported(f"initializer {tensor.name!r} is not float32 inside the file")
    shape = _positive(tuple(tensor.dims), tensor.name)
    if tensor.raw_data and tensor.float_data:
        raise Rejected(f"initializer {tensor.name!r} holds its data twice")
    raw = tensor.raw_data
    if tensor.float_data:
        # protobuf hands float32 fields out as wider numbers; packing them back is lossless
        words = array("f", tensor.float_data)
        if byteorder == "big":
            words.byteswap()
        raw = words.tobytes()
    if len(raw) != 4 * prod(shape):
        raise Rejected(f"initializer {tensor.name!r} has {len(raw)} bytes for shape {shape}")
    numerators, denominator = float32_numerators(raw, f"initializer {tensor.name!r}")
    return Tensor(shape, Vector(tuple(numerators), denominator))


def _integers(tensor: TensorProto) -> tuple[int, ...]:
    if tensor.data_location == TensorProto.EXTERNAL or len(tensor.dims) > 1:
        raise Unsupported(f"initializer {tensor.name!r} is not a plain list of integers")
    raw = tensor.raw_data
    if len(raw) % 8 or len(raw) > 8192:
        raise Rejected(f"initializer {tensor.name!r} has {len(raw)} bytes of 8-byte integers")
    starts = range(0, len(raw), 8)
    words = [int.from_bytes(raw[i : i + 8], "little", signed=True) for i in starts]
    values = tuple(words) or tuple(tensor.int64_data)
    if len(values) != prod(tensor.dims):
        raise Rejected(f"initializer {tensor.name!r} has {len(values)} entries, not its shape's")
    return values


def _attribute(attribute: AttributeProto, node: str) -> Any:
    if attribute.ref_attr_name:
        raise Unsupported(f"node {node!r} takes an attribute from a function")
    if attribute.type == AttributeProto.INT:
        return int(attribute.i)
    if attribute.type == AttributeProto.INTS:
        return tuple(int(i) for i in attribute.ints)
    if attribute.type == AttributeProto.STRING:
        return bytes(attribute.s).decode("ascii", "replace")
    if attribute.type == AttributeProto.FLOAT and attribute.f == 1:
        return 1
    raise Unsupported(f"node {node!r} has an attribute {attribute.name!r} of another kind")
