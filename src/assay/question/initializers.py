"""Constants of an ONNX file as numpy arrays, refused unless they are whole and finite."""

from __future__ import annotations

import math

import numpy as np
from onnx import TensorProto

from assay.errors import BadInput
from assay.question.external_data import is_external
from assay.question.shapes import DATA_TYPES, ShapeError, checked_shape

_TYPED_FIELDS = {
    TensorProto.FLOAT: "float_data",
    TensorProto.INT64: "int64_data",
    TensorProto.INT32: "int32_data",
    TensorProto.BOOL: "int32_data",
}


def decode(tensor: TensorProto, place: str) -> np.ndarray:
    """Return the array of `tensor`, read-only; `place` names it in error messages."""
    if is_external(tensor):
        raise BadInput(f"{place}: its data lies in another file; save the model in one file")
    if tensor.HasField("segment"):
        raise BadInput(f"{place}: its data is in segments; export the model again")
    if tensor.data_type not in DATA_TYPES:
        raise BadInput(
            f"{place}: element type {tensor.data_type} is not float32; export as float32"
        )
    shape = _shape(tensor, place)
    count = math.prod(shape)
    dtype = DATA_TYPES[tensor.data_type]
    typed = getattr(tensor, _TYPED_FIELDS[tensor.data_type])
    holders = {f.name for f, _ in tensor.ListFields() if f.name.endswith("_data")}
    if not holders <= {"raw_data", _TYPED_FIELDS[tensor.data_type]}:
        raise BadInput(f"{place}: holds data of another type as well; export the model again")
    if tensor.HasField("raw_data"):
        expected, found = count * dtype.itemsize, len(tensor.raw_data)
        if expected != found or len(typed):
            raise BadInput(
                f"{place}: {found} bytes of data where its shape {list(shape)} needs {expected}; "
                "export the model again"
            )
        array = np.frombuffer(tensor.raw_data, dtype.newbyteorder("<")).astype(dtype)
    else:
        if len(typed) != count:
            raise BadInput(
                f"{place}: {len(typed)} values where its shape {list(shape)} needs {count}; "
                "export the model again"
            )
        array = np.asarray(typed).astype(dtype) if count else np.empty(0, dtype)
    return frozen(array.reshape(shape), place)


def frozen(array: np.ndarray, place: str) -> np.ndarray:
    """Return `array` made read-only, refusing NaN and infinity."""
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise BadInput(f"{place}: holds NaN or infinity; use finite weights")
    array.setflags(write=False)
    return array


def _shape(tensor: TensorProto, place: str) -> tuple[int, ...]:
    dims = [int(d) for d in tensor.dims]
    # An empty list of axes or target dimensions is legal ONNX; an empty weight is not usable.
    if dims == [0] and tensor.data_type != TensorProto.FLOAT:
        return (0,)
    try:
        return checked_shape(dims, "it")
    except ShapeError as problem:
        raise BadInput(f"{place}: {problem}; export the model again") from None
