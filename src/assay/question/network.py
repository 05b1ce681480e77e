"""Reading ONNX networks: everything that can be wrong is refused here, with its place.

A `Network` has one float32 input and one float32 output, static shapes throughout, plain
Python attributes, and all constants as read-only arrays. Nodes that do not serve the output and
integer bookkeeping (see `folding`) are gone, so whoever walks `nodes` meets float operators only.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto

from assay.errors import SAMPLING_WORKS, BadInput
from assay.question.attributes import constant_value, read_attributes
from assay.question.folding import computable, compute, stays
from assay.question.initializers import decode, frozen
from assay.question.model_file import ModelFile, parse, read_model
from assay.question.node_order import node_label, ordered
from assay.question.shapes import LARGEST_TENSOR, ShapeError, TensorType, checked_shape, infer

STANDARD_DOMAINS = ("", "ai.onnx")
OPSETS = range(7, onnx.defs.onnx_opset_version() + 1)


@dataclass(frozen=True)
class Node:
    """One operator; `inputs` holds an empty name where an optional input is left out."""

    name: str
    op_type: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any]
    opset: int


@dataclass(frozen=True, eq=False)
class Network:
    """A checked graph. `shapes` covers every tensor, `place` names the file in messages."""

    onnx: bytes = field(repr=False)
    sha256: str
    place: str
    opset: int
    input_name: str
    input_shape: tuple[int, ...]
    output_name: str
    output_shape: tuple[int, ...]
    nodes: tuple[Node, ...] = field(repr=False)
    initializers: Mapping[str, np.ndarray] = field(repr=False)
    shapes: Mapping[str, tuple[int, ...]] = field(repr=False)

    @property
    def inputs(self) -> int:
        """How many numbers go in, flattened in C order."""
        return math.prod(self.input_shape)

    @property
    def outputs(self) -> int:
        """How many numbers come out, flattened in C order."""
        return math.prod(self.output_shape)

    @property
    def operators(self) -> frozenset[str]:
        return frozenset(node.op_type for node in self.nodes)


def load_file(path: str | Path) -> Network:
    """Read `path`, a `.onnx` file or a gzip-ed `.onnx.gz` one, with the weights beside it."""
    return network_of(read_model(path))


def load(data: bytes, place: str) -> Network:
    """Check the ONNX file `data` and return it as a Network; `place` names it in messages."""
    return network_of(ModelFile(parse(data, place), data, place))


def network_of(file: ModelFile) -> Network:
    """Check a model that was read already."""
    model, place = file.model, file.place
    if not 3 <= model.ir_version <= onnx.IR_VERSION:
        raise BadInput(f"{place}: IR version {model.ir_version} is unknown; export it again")
    if model.functions:
        raise BadInput(
            f"{place}: Assay does not read model-local functions; inline them; {SAMPLING_WORKS}"
        )
    if model.graph.sparse_initializer:
        raise BadInput(f"{place}: sparse initializers are not read; store dense ones")
    return _Reader(model.graph, _opset(model, place), place).network(file)


def _opset(model: onnx.ModelProto, place: str) -> int:
    # Converters list a domain twice, or under both of its names; one version is one thing.
    versions = {o.version for o in model.opset_import if o.domain in STANDARD_DOMAINS}
    if len(versions) != 1 or not versions <= set(OPSETS):
        found = " and ".join(map(str, sorted(versions))) or "none"
        raise BadInput(
            f"{place}: opset {found} is unknown; export with one opset from {OPSETS[0]} "
            f"to {OPSETS[-1]}"
        )
    return int(versions.pop())


class _Reader:
    """Walks a graph once, in an order where every tensor is made before it is used."""

    def __init__(self, graph: onnx.GraphProto, opset: int, place: str) -> None:
        self.graph = graph
        self.opset = opset
        self.place = place
        self.types: dict[str, TensorType] = {}
        self.constants: dict[str, np.ndarray] = {}
        self.known: dict[str, np.ndarray] = {}
        """Floats that nodes make of constants, as ONNX Runtime would; shapes may depend on them."""
        self.elements = 0
        self.context = onnx.checker.C.CheckerContext()
        self.context.ir_version = onnx.IR_VERSION
        self.context.opset_imports = {"": opset}

    def network(self, file: ModelFile) -> Network:
        for tensor in self.graph.initializer:
            name = self._new_name(tensor.name, "initializer")
            self._constant(name, decode(tensor, f"{self.place}: initializer {name!r}"))
        input_name, input_shape = self._input()
        nodes: list[Node] = []
        for index, proto in ordered(self.graph.node, set(self.types), self.place):
            node = self._node(proto, index)
            if node is not None:
                nodes.append(node)
        output_name = self._output(nodes)
        used = _serving(nodes, output_name)
        return Network(
            onnx=file.data,
            sha256=file.sha256,
            place=self.place,
            opset=self.opset,
            input_name=input_name,
            input_shape=input_shape,
            output_name=output_name,
            output_shape=self.types[output_name].shape,
            nodes=tuple(n for n in nodes if used.intersection(n.outputs)),
            initializers={k: v for k, v in self.constants.items() if k in used},
            shapes={k: v.shape for k, v in self.types.items()},
        )

    def _new_name(self, name: str, what: str) -> str:
        if not name:
            raise BadInput(f"{self.place}: an {what} has no name; export the model again")
        if name in self.types:
            raise BadInput(f"{self.place}: two tensors are named {name!r}; rename one")
        return name

    def _constant(self, name: str, array: np.ndarray) -> None:
        self.constants[name] = array
        self._typed(name, TensorType(array.dtype, array.shape), f"{self.place}: constant {name!r}")

    def _typed(self, name: str, kind: TensorType, place: str) -> None:
        self.types[name] = kind
        self.elements += kind.size
        if self.elements > LARGEST_TENSOR:
            raise BadInput(f"{place}: more than {LARGEST_TENSOR} numbers; use a smaller network")

    def _input(self) -> tuple[str, tuple[int, ...]]:
        free = [i for i in self.graph.input if i.name not in self.constants]
        if len(free) != 1:
            raise BadInput(f"{self.place}: {len(free)} inputs; give a network with exactly one")
        place = f"{self.place}: input {free[0].name!r}"
        name = self._new_name(free[0].name, "input")
        shape = _declared(free[0], place)
        if shape is None or None in shape:
            raise BadInput(f"{place}: dynamic shape; export with fixed dimensions")
        static = tuple(d for d in shape if d is not None)
        self._typed(name, TensorType(np.dtype(np.float32), static), place)
        return name, static

    def _output(self, nodes: list[Node]) -> str:
        if len(self.graph.output) != 1:
            count = len(self.graph.output)
            raise BadInput(
                f"{self.place}: {count} outputs; give a network with exactly one; {SAMPLING_WORKS}"
            )
        output = self.graph.output[0]
        place = f"{self.place}: output {output.name!r}"
        if not any(output.name in node.outputs for node in nodes):
            raise BadInput(f"{place}: no node computes it from the input; export the model again")
        kind = self.types[output.name]
        if kind.dtype != np.float32:
            raise BadInput(f"{place}: is {kind.dtype}, not float32; output the scores themselves")
        declared = _declared(output, place)
        if declared is not None and None not in declared:
            count = math.prod(d for d in declared if d is not None)
            if count != kind.size:
                raise BadInput(
                    f"{place}: declared with {count} numbers but computed with {kind.size}; "
                    "export the model again"
                )
        return str(output.name)

    def _node(self, proto: onnx.NodeProto, index: int) -> Node | None:
        """Check one node; None when it was folded into a constant."""
        name = node_label(proto, index)
        place = f"{self.place}: node {name!r} ({proto.op_type})"
        if proto.domain not in STANDARD_DOMAINS:
            raise BadInput(
                f"{place}: Assay has no view of the domain {proto.domain!r} yet; {SAMPLING_WORKS}"
            )
        attributes = read_attributes(proto, place)
        try:
            onnx.checker.check_node(proto, self.context)
        except (onnx.checker.ValidationError, UnicodeDecodeError) as error:
            reason = " ".join(str(error).split())[:160]
            raise BadInput(f"{place}: {reason}; export the model again") from None
        if not proto.output or not proto.output[0]:
            raise BadInput(f"{place}: its first output has no name; export the model again")
        if proto.op_type == "Constant":
            self._constant(proto.output[0], constant_value(attributes, place))
            return None
        values = self.constants | self.known
        try:
            kinds = infer(proto, self.types, values, self.opset)
            kind = kinds[proto.output[0]]
            inputs = [values.get(i) for i in proto.input]
            if computable(proto, inputs, kind):
                blank = {i: _blank(self.types[i]) for i in proto.input if i not in values}
                given = blank | {i: values[i] for i in proto.input if i in values}
                value = compute(proto, given, kind, self.opset)
                if stays(inputs, kind):
                    self.known[proto.output[0]] = value
                else:
                    self._constant(proto.output[0], frozen(value, place))
                    return None
        except ShapeError as problem:
            raise BadInput(f"{place}: {problem}; export with fixed shapes") from None
        for output, kind in kinds.items():
            self._typed(output, kind, place)
        op_type = proto.op_type
        if op_type == "Cast" and kinds[proto.output[0]] == self.types[proto.input[0]]:
            op_type, attributes = "Identity", {}  # TorchScript casts float32 to float32
        return Node(name, op_type, tuple(proto.input), tuple(proto.output), attributes, self.opset)


def _declared(info: onnx.ValueInfoProto, place: str) -> tuple[int | None, ...] | None:
    """The shape a file declares: a free batch dimension is 1, other free ones are None."""
    if info.type.WhichOneof("value") != "tensor_type":
        raise BadInput(f"{place}: is not a tensor; give a network on one float32 tensor")
    tensor = info.type.tensor_type
    if tensor.elem_type != TensorProto.FLOAT:
        raise BadInput(
            f"{place}: element type {tensor.elem_type} is not float32; export as float32"
        )
    if not tensor.HasField("shape"):
        return None
    dims: list[int | None] = []
    for axis, dim in enumerate(tensor.shape.dim):
        free = not dim.HasField("dim_value") or dim.dim_value == 0
        dims.append((1 if axis == 0 else None) if free else int(dim.dim_value))
    try:
        checked_shape([1 if d is None else d for d in dims], "it")
    except ShapeError as problem:
        raise BadInput(f"{place}: {problem}; export the model again") from None
    return tuple(dims)


def _blank(kind: TensorType) -> np.ndarray:
    """An array of this shape that takes no memory, for nodes that read shapes only."""
    return np.broadcast_to(np.zeros((), kind.dtype), kind.shape)


def _serving(nodes: list[Node], output: str) -> set[str]:
    """The tensors that the output depends on."""
    used = {output}
    for node in reversed(nodes):
        if used.intersection(node.outputs):
            used.update(name for name in node.inputs if name)
    return used
