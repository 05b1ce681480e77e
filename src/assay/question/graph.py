"""Writing ONNX networks: a small builder whose bytes depend on its calls only.

Every graph has one float32 input `input`, one float32 output `output`, static shapes, opset 13
and raw little-endian initializers. Weights must be float32 numbers already: a value that
rounding would change is refused, because what is certified must be what is written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from numpy.typing import ArrayLike
from onnx import TensorProto, helper

from assay.errors import BadInput
from assay.question.convolution import ConvLayer
from assay.question.shapes import ShapeError, TensorType, checked_shape, infer

OPSET = 13
IR_VERSION = 8
INPUT = "input"
OUTPUT = "output"

Operand = str | np.ndarray | float
"""A tensor of the graph by its name, or a constant."""


def exact_float32(values: ArrayLike, what: str) -> np.ndarray:
    """Return `values` as float32, refusing any that float32 does not hold exactly."""
    given = np.asarray(values)
    if given.dtype.kind not in "fiu":
        raise BadInput(f"{what}: numbers expected, got {given.dtype}; pass a float32 array")
    with np.errstate(over="ignore"):
        rounded = given.astype(np.float32)
    if not np.isfinite(rounded).all():
        raise BadInput(f"{what}: NaN, infinite or too large for float32; use finite numbers")
    # Integers are compared as Python numbers: int64 against float32 would round once more.
    same = (
        bool((rounded.astype(given.dtype) == given).all())
        if given.dtype.kind == "f"
        else [int(v) for v in rounded.ravel()] == given.ravel().tolist()
    )
    if not same:
        raise BadInput(f"{what}: not exactly representable in float32; round it before certifying")
    return np.ascontiguousarray(rounded).reshape(given.shape)


class GraphBuilder:
    """Adds nodes one by one; every method returns the name of the tensor it makes."""

    def __init__(self, input_shape: Sequence[int]) -> None:
        self._types: dict[str, TensorType] = {}
        self._constants: dict[str, np.ndarray] = {}
        self._nodes: list[onnx.NodeProto] = []
        try:
            shape = checked_shape([int(d) for d in input_shape], "the input")
        except ShapeError as problem:
            raise BadInput(f"graph builder: {problem}; give positive dimensions") from None
        self.input = INPUT
        self._types[INPUT] = TensorType(np.dtype(np.float32), shape)

    def shape(self, name: str) -> tuple[int, ...]:
        """The static shape of a tensor made so far."""
        return self._types[name].shape

    # Affine layers

    def gemm(self, x: str, weight: ArrayLike, bias: ArrayLike | None = None) -> str:
        """x weight^T + bias, with `weight` of shape (out, in)."""
        return self._node("Gemm", [x], weights={"B": weight, "C": bias}, transB=1)

    def matmul(self, a: Operand, b: Operand) -> str:
        return self._node("MatMul", [a, b])

    def conv(
        self,
        x: str,
        weight: ArrayLike,
        bias: ArrayLike | None = None,
        *,
        strides: Sequence[int] = (1, 1),
        pads: Sequence[int] = (0, 0, 0, 0),
        dilations: Sequence[int] = (1, 1),
        group: int = 1,
    ) -> str:
        kernel = list(np.shape(weight)[2:])
        attributes: dict[str, Any] = {
            "kernel_shape": kernel,
            "strides": list(strides),
            "pads": list(pads),
            "dilations": list(dilations),
            "group": group,
        }
        return self._node("Conv", [x], weights={"W": weight, "B": bias}, **attributes)

    def batch_norm(
        self,
        x: str,
        scale: ArrayLike,
        bias: ArrayLike,
        mean: ArrayLike,
        variance: ArrayLike,
        *,
        epsilon: float = 1e-5,
    ) -> str:
        constants = {"scale": scale, "B": bias, "mean": mean, "var": variance}
        return self._node("BatchNormalization", [x], weights=constants, epsilon=epsilon)

    # Element by element

    def add(self, a: Operand, b: Operand) -> str:
        return self._node("Add", [a, b])

    def sub(self, a: Operand, b: Operand) -> str:
        return self._node("Sub", [a, b])

    def mul(self, a: Operand, b: Operand) -> str:
        return self._node("Mul", [a, b])

    def div(self, a: Operand, b: Operand) -> str:
        return self._node("Div", [a, b])

    def pow(self, a: Operand, exponent: Operand) -> str:
        return self._node("Pow", [a, exponent])

    def maximum(self, a: Operand, b: Operand) -> str:
        return self._node("Max", [a, b])

    def minimum(self, a: Operand, b: Operand) -> str:
        return self._node("Min", [a, b])

    def neg(self, x: str) -> str:
        return self._node("Neg", [x])

    def abs(self, x: str) -> str:
        return self._node("Abs", [x])

    def relu(self, x: str) -> str:
        return self._node("Relu", [x])

    def leaky_relu(self, x: str, alpha: float) -> str:
        return self._node("LeakyRelu", [x], alpha=float(exact_float32(alpha, "leaky_relu: alpha")))

    def clip(self, x: str, low: float, high: float) -> str:
        return self._node("Clip", [x], weights={"min": low, "max": high})

    def exp(self, x: str) -> str:
        return self._node("Exp", [x])

    def sqrt(self, x: str) -> str:
        return self._node("Sqrt", [x])

    def erf(self, x: str) -> str:
        return self._node("Erf", [x])

    def sigmoid(self, x: str) -> str:
        return self._node("Sigmoid", [x])

    def tanh(self, x: str) -> str:
        return self._node("Tanh", [x])

    def softmax(self, x: str, axis: int = -1) -> str:
        return self._node("Softmax", [x], axis=axis)

    # Pooling and reduction

    def average_pool(
        self,
        x: str,
        kernel: Sequence[int],
        *,
        strides: Sequence[int] = (1, 1),
        pads: Sequence[int] = (0, 0, 0, 0),
        count_include_pad: bool = False,
    ) -> str:
        attributes: dict[str, Any] = {
            "kernel_shape": list(kernel),
            "strides": list(strides),
            "pads": list(pads),
            "count_include_pad": int(count_include_pad),
        }
        return self._node("AveragePool", [x], **attributes)

    def max_pool(
        self,
        x: str,
        kernel: Sequence[int],
        *,
        strides: Sequence[int] = (1, 1),
        pads: Sequence[int] = (0, 0, 0, 0),
    ) -> str:
        window: dict[str, Any] = {"strides": list(strides), "pads": list(pads)}
        return self._node("MaxPool", [x], kernel_shape=list(kernel), **window)

    def global_average_pool(self, x: str) -> str:
        return self._node("GlobalAveragePool", [x])

    def reduce_sum(self, x: str, axes: Sequence[int], *, keepdims: bool = True) -> str:
        return self._node("ReduceSum", [x], indices={"axes": axes}, keepdims=int(keepdims))

    def reduce_mean(self, x: str, axes: Sequence[int], *, keepdims: bool = True) -> str:
        return self._node("ReduceMean", [x], axes=list(axes), keepdims=int(keepdims))

    def reduce_max(self, x: str, axes: Sequence[int], *, keepdims: bool = True) -> str:
        return self._node("ReduceMax", [x], axes=list(axes), keepdims=int(keepdims))

    def reduce_min(self, x: str, axes: Sequence[int], *, keepdims: bool = True) -> str:
        return self._node("ReduceMin", [x], axes=list(axes), keepdims=int(keepdims))

    # Moving numbers about

    def flatten(self, x: str, axis: int = 1) -> str:
        return self._node("Flatten", [x], axis=axis)

    def reshape(self, x: str, shape: Sequence[int]) -> str:
        return self._node("Reshape", [x], indices={"shape": shape})

    def squeeze(self, x: str, axes: Sequence[int]) -> str:
        return self._node("Squeeze", [x], indices={"axes": axes})

    def unsqueeze(self, x: str, axes: Sequence[int]) -> str:
        return self._node("Unsqueeze", [x], indices={"axes": axes})

    def concat(self, parts: Sequence[Operand], axis: int) -> str:
        return self._node("Concat", parts, axis=axis)

    def transpose(self, x: str, permutation: Sequence[int]) -> str:
        return self._node("Transpose", [x], perm=list(permutation))

    def slice(
        self,
        x: str,
        starts: Sequence[int],
        ends: Sequence[int],
        axes: Sequence[int],
        steps: Sequence[int] | None = None,
    ) -> str:
        indices = {"starts": starts, "ends": ends, "axes": axes, "steps": steps}
        return self._node("Slice", [x], indices=indices)

    def gather(self, x: str, indices: ArrayLike, axis: int) -> str:
        return self._node("Gather", [x], indices={"indices": indices}, axis=axis)

    def pad(self, x: str, pads: Sequence[int], value: float = 0.0) -> str:
        """Constant padding; `pads` is all begins, then all ends."""
        return self._node(
            "Pad", [x], indices={"pads": pads}, weights={"value": value}, mode="constant"
        )

    # Finishing

    def build(self, output: str) -> bytes:
        """Serialise the graph whose result is the tensor `output`; all nodes must serve it."""
        if output == INPUT or output not in self._types or output in self._constants:
            raise BadInput(
                f"graph builder: {output!r} is not made by a node; add one that makes it"
            )
        self._refuse_idle_nodes(output)
        nodes = [_renamed(node, output, OUTPUT) for node in self._nodes]
        initializers = [_raw(name, array) for name, array in self._constants.items()]
        graph = helper.make_graph(
            nodes,
            "assay",
            [helper.make_tensor_value_info(INPUT, TensorProto.FLOAT, self.shape(INPUT))],
            [helper.make_tensor_value_info(OUTPUT, TensorProto.FLOAT, self.shape(output))],
            initializers,
        )
        model = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION
        )
        model.producer_name = "assay"
        try:
            onnx.checker.check_model(model, full_check=True)
        except onnx.checker.ValidationError as error:
            raise BadInput(f"graph builder: {' '.join(str(error).split())}; fix the node") from None
        return bytes(model.SerializeToString(deterministic=True))

    def _refuse_idle_nodes(self, output: str) -> None:
        needed = {output}
        for node in reversed(self._nodes):
            if node.output[0] not in needed:
                raise BadInput(f"graph builder: {node.name} does not reach the output; remove it")
            needed.update(node.input)

    def _node(
        self,
        op_type: str,
        operands: Sequence[Operand],
        *,
        indices: Mapping[str, ArrayLike | None] | None = None,
        weights: Mapping[str, ArrayLike | None] | None = None,
        **attributes: Any,
    ) -> str:
        """Add a node taking `operands`, then int64 `indices`, then float32 `weights`."""
        name = f"{op_type}_{len(self._nodes)}"
        added: dict[str, np.ndarray] = {}
        inputs: list[str] = []
        for i, operand in enumerate(operands):
            if isinstance(operand, str):
                inputs.append(operand)
            else:
                inputs.append(f"{name}.{i}")
                added[inputs[-1]] = exact_float32(operand, f"graph builder: {inputs[-1]}")
        for label, value in (indices or {}).items():
            if value is not None:
                inputs.append(f"{name}.{label}")
                added[inputs[-1]] = np.asarray(value, np.int64)
        for label, value in (weights or {}).items():
            if value is not None:
                inputs.append(f"{name}.{label}")
                added[inputs[-1]] = exact_float32(value, f"graph builder: {inputs[-1]}")
        node = helper.make_node(op_type, inputs, [name], name=name, **attributes)
        types = {tensor: self._types[tensor] for tensor in inputs if tensor in self._types}
        types |= {k: TensorType(v.dtype, v.shape) for k, v in added.items()}
        try:
            types |= infer(node, types, added, OPSET)
        except ShapeError as problem:
            raise BadInput(f"graph builder: {name}: {problem}; fix its shapes") from None
        self._types |= types
        self._constants |= added
        self._nodes.append(node)
        return name


def mlp(layers: Sequence[tuple[np.ndarray, np.ndarray]]) -> bytes:
    """X[1, d] -> Gemm -> Relu -> ... -> Gemm; each layer is (weight of shape (out, in), bias)."""
    return chain(layers)


def chain(layers: Sequence[tuple[np.ndarray, np.ndarray] | ConvLayer]) -> bytes:
    """Convolutions and matrices with a Relu between each two, and a Flatten before a matrix."""
    if not layers:
        raise BadInput("mlp: no layers; give at least one pair of weight and bias")
    for i, layer in enumerate(layers):
        if isinstance(layer, ConvLayer):
            continue
        weight, bias = layer
        if np.ndim(weight) != 2 or np.shape(bias) != np.shape(weight)[:1]:
            raise BadInput(f"mlp: layer {i} needs a weight (out, in) and a bias (out,)")
    first = layers[0]
    inner = first.image if isinstance(first, ConvLayer) else first[0].shape[1:]
    graph = GraphBuilder((1, *inner))
    x = graph.input
    for i, layer in enumerate(layers):
        x = x if i == 0 else graph.relu(x)
        if isinstance(layer, ConvLayer):
            x = graph.conv(x, layer.kernel, layer.bias, strides=layer.strides, pads=layer.pads)
        else:
            x = graph.gemm(graph.flatten(x) if len(graph.shape(x)) > 2 else x, *layer)
    return graph.build(x)


def _raw(name: str, array: np.ndarray) -> onnx.TensorProto:
    kind = helper.np_dtype_to_tensor_dtype(array.dtype)
    data = array.astype(array.dtype.newbyteorder("<")).tobytes()
    return helper.make_tensor(name, kind, array.shape, data, raw=True)


def _renamed(node: onnx.NodeProto, old: str, new: str) -> onnx.NodeProto:
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    for names in (copy.input, copy.output):
        for i, name in enumerate(names):
            if name == old:
                names[i] = new
    return copy
