"""The type and static shape of what one ONNX node makes, by ONNX's own schema inference.

Inference runs node by node, so that a wrong node is named, and a tensor of absurd size is
refused before anything is allocated for it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

LARGEST_TENSOR = 2**28
"""Elements; a tensor above this is refused rather than allocated."""

LARGEST_RANK = 16

DATA_TYPES: dict[int, np.dtype[np.generic]] = {
    TensorProto.FLOAT: np.dtype(np.float32),
    TensorProto.INT64: np.dtype(np.int64),
    TensorProto.INT32: np.dtype(np.int32),
    TensorProto.BOOL: np.dtype(np.bool_),
}
"""The element types a network may hold: float32 values, and integers that steer shapes."""


_ONNX_ERRORS = (
    onnx.defs.SchemaError,
    onnx.shape_inference.InferenceError,
    onnx.checker.ValidationError,
)
_REARRANGING = ("Flatten", "Identity", "Reshape", "Squeeze", "Transpose", "Unsqueeze")


@dataclass(frozen=True)
class TensorType:
    """Element type and static shape."""

    dtype: np.dtype[np.generic]
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        return math.prod(self.shape)


class ShapeError(ValueError):
    """Why a node's output has no usable static shape; the caller adds the place."""


def checked_shape(dims: list[int], what: str) -> tuple[int, ...]:
    """Return `dims` as a shape, refusing negative dimensions and absurd sizes."""
    if len(dims) > LARGEST_RANK:
        raise ShapeError(f"{what} has {len(dims)} dimensions, more than {LARGEST_RANK}")
    if any(d < 1 for d in dims):
        raise ShapeError(f"{what} has an empty or negative dimension in shape {dims}")
    if math.prod(dims) > LARGEST_TENSOR:
        raise ShapeError(f"{what} of shape {dims} has more than {LARGEST_TENSOR} elements")
    return tuple(dims)


def infer(
    node: onnx.NodeProto,
    known: Mapping[str, TensorType],
    constants: Mapping[str, np.ndarray],
    opset: int,
) -> dict[str, TensorType]:
    """Return the type of every named output of `node`.

    `constants` holds known values: integers (shapes, axes, pads) and the few floats (the scales of
    a Resize) that decide shapes.
    """
    present = [name for name in node.input if name]
    missing = [name for name in present if name not in known]
    if missing:
        raise ShapeError(f"unknown tensor {missing[0]!r}")
    try:
        schema = onnx.defs.get_schema(node.op_type, opset, "")
        inferred = onnx.shape_inference.infer_node_outputs(
            schema,
            node,
            {name: _to_proto(known[name]) for name in present},
            {
                name: numpy_helper.from_array(constants[name], name)
                for name in present
                if name in constants and _decides(constants[name])
            },
            opset_imports=[helper.make_opsetid("", opset)],
        )
    except (ValueError, RuntimeError, TypeError, KeyError, *_ONNX_ERRORS) as error:
        raise ShapeError(_one_line(error)) from None
    made = {name: _from_proto(inferred.get(name), name) for name in node.output if name}
    # ONNX's inference believes a Reshape whatever it says.
    if node.op_type in _REARRANGING and made[node.output[0]].size != known[node.input[0]].size:
        shapes = [list(kind.shape) for kind in (known[node.input[0]], made[node.output[0]])]
        raise ShapeError(f"cannot turn shape {shapes[0]} into {shapes[1]}")
    return made


def _decides(values: np.ndarray) -> bool:
    return values.dtype != np.float32 or values.size <= LARGEST_RANK


def _to_proto(kind: TensorType) -> onnx.TypeProto:
    element = helper.np_dtype_to_tensor_dtype(kind.dtype)
    return helper.make_tensor_type_proto(element, list(kind.shape))


def _from_proto(proto: onnx.TypeProto | None, name: str) -> TensorType:
    if proto is None or not proto.HasField("tensor_type"):
        raise ShapeError(f"output {name!r} has no shape that can be inferred")
    tensor = proto.tensor_type
    if tensor.elem_type not in DATA_TYPES:
        raise ShapeError(f"output {name!r} has element type {tensor.elem_type}, not float32")
    if not tensor.HasField("shape"):
        raise ShapeError(f"output {name!r} has no shape that can be inferred")
    if not all(d.HasField("dim_value") for d in tensor.shape.dim):
        raise ShapeError(f"output {name!r} has a dynamic shape")
    dims = [int(d.dim_value) for d in tensor.shape.dim]
    kind = DATA_TYPES[tensor.elem_type]
    # Programs that compute shapes join lists, of which one may be empty.
    if dims == [0] and kind != np.float32:
        return TensorType(kind, (0,))
    return TensorType(kind, checked_shape(dims, f"output {name!r}"))


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__


def shape_words(shape: Sequence[int]) -> str:
    """A shape as people write it: 3 x 32 x 32."""
    return " x ".join(map(str, shape))
