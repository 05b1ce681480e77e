"""Weights that lie beside an ONNX file (`net.onnx.data`), read into the model under strict rules.

A file is taken only from the model's own folder: no absolute path, no `..`, no link that leads out
of it. Offset and length must fit the file, and the length the tensor's type and shape, so that no
byte is read that the model does not name and none is missing.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath

import onnx
from onnx import TensorProto, helper

from assay.errors import BadInput

LARGEST_MODEL = 2**31 - 1
"""Bytes of one protobuf message, and so of a model in a single file."""
_AGAIN = "export the model again"
_LARGEST_RANK = 16


class WeightsElsewhere(BadInput):
    """A model that cannot be had as one file: weights that are missing, misplaced or too many."""


@dataclass(frozen=True)
class _Piece:
    """The bytes of one tensor: where they begin, and how many there are."""

    path: Path
    offset: int
    length: int


def is_external(tensor: TensorProto) -> bool:
    return bool(tensor.data_location == TensorProto.EXTERNAL or tensor.external_data)


def external_tensors(model: onnx.ModelProto) -> list[TensorProto]:
    """All tensors of the model whose data lies in another file, those in subgraphs included."""
    return [tensor for tensor in _tensors(model) if is_external(tensor)]


def inline(model: onnx.ModelProto, folder: Path, place: str) -> None:
    """Read all data that lies in other files of `folder` into the model; `place` names it.

    Nothing is read before all of it is known to be there and to fit into one file.
    """
    tensors = external_tensors(model)
    pieces = [_piece(tensor, folder, place) for tensor in tensors]
    whole = model.ByteSize() + sum(piece.length for piece in pieces)
    if whole > LARGEST_MODEL:
        raise WeightsElsewhere(
            f"{place}: with the weights of its other files it would hold about {whole} bytes, and "
            f"protobuf limits a single file to {LARGEST_MODEL} (2 GB); use a smaller network"
        )
    for tensor, piece in zip(tensors, pieces, strict=True):
        tensor.raw_data = _read(piece, f"{place}: {_name(tensor)}")
        tensor.ClearField("data_location")
        del tensor.external_data[:]


def _piece(tensor: TensorProto, folder: Path, place: str) -> _Piece:
    where = f"{place}: {_name(tensor)}"
    held = {field.name for field, _ in tensor.ListFields() if field.name.endswith("_data")}
    if tensor.data_location != TensorProto.EXTERNAL or held != {"external_data"}:
        raise WeightsElsewhere(f"{where}: has data in the file and in another one; {_AGAIN}")
    entries = {entry.key: entry.value for entry in tensor.external_data}
    if len(entries) != len(tensor.external_data):
        raise WeightsElsewhere(f"{where}: says twice where its data lies; {_AGAIN}")
    path = _inside(entries.get("location", ""), folder, where)
    needed = _bytes_of(tensor, where)
    offset = _number(entries, "offset", 0, where)
    length = _number(entries, "length", needed, where)
    if length != needed:
        raise WeightsElsewhere(
            f"{where}: {length} bytes in {path.name} where its shape {list(tensor.dims)} needs "
            f"{needed}; {_AGAIN}"
        )
    size = path.stat().st_size
    if offset + length > size:
        raise WeightsElsewhere(
            f"{where}: needs bytes {offset} to {offset + length} of {path.name}, which holds "
            f"{size}; get the whole file"
        )
    return _Piece(path, offset, length)


def _inside(location: str, folder: Path, where: str) -> Path:
    """The file that a location names, which must lie in the model's folder."""
    named = PurePosixPath(location)
    outside = named.is_absolute() or ".." in named.parts or PureWindowsPath(location).drive
    if not location or outside or "\\" in location or "\0" in location:
        raise WeightsElsewhere(
            f"{where}: its data lies in {location[:80]!r}, and only a file in the model's own "
            "folder is read; put it there and save the model again"
        )
    try:
        # What is opened later is the file that is looked at here, wherever a link leads by then.
        path = (folder / named).resolve()
        leaves = not path.is_relative_to(folder.resolve())
        found = path.is_file()
    except (OSError, RuntimeError) as error:
        raise WeightsElsewhere(
            f"{where}: {location[:80]!r} cannot be read ({error}); check it"
        ) from None
    if leaves:
        raise WeightsElsewhere(
            f"{where}: {location[:80]!r} is a link out of the model's folder; put the file itself "
            "there"
        )
    if not found:
        raise WeightsElsewhere(
            f"{where}: its data lies in {location[:80]!r}, and there is no such file beside the "
            "model; keep both files together"
        )
    return path


def _number(entries: dict[str, str], key: str, default: int, where: str) -> int:
    text = entries.get(key, str(default))
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise WeightsElsewhere(f"{where}: its {key} {text[:40]!r} is no whole number; {_AGAIN}")
    return int(text)


def _bytes_of(tensor: TensorProto, where: str) -> int:
    try:
        size = helper.tensor_dtype_to_np_dtype(tensor.data_type).itemsize
    except (KeyError, TypeError, ValueError):
        size = 0
    four_bits = (TensorProto.INT4, TensorProto.UINT4, TensorProto.FLOAT4E2M1)
    if tensor.data_type == TensorProto.STRING or not size or tensor.data_type in four_bits:
        raise WeightsElsewhere(
            f"{where}: element type {tensor.data_type} is not read from another file; save the "
            "model in one file"
        )
    if len(tensor.dims) > _LARGEST_RANK or any(d < 0 for d in tensor.dims):
        raise WeightsElsewhere(f"{where}: has no usable shape; {_AGAIN}")
    return math.prod(int(d) for d in tensor.dims) * int(size)


def _read(piece: _Piece, where: str) -> bytes:
    try:
        with os.fdopen(os.open(piece.path, os.O_RDONLY | os.O_NOFOLLOW), "rb") as stream:
            stream.seek(piece.offset)
            data = stream.read(piece.length)
    except OSError as error:
        raise WeightsElsewhere(f"{where}: {piece.path} cannot be read ({error.strerror})") from None
    if len(data) != piece.length:
        raise WeightsElsewhere(f"{where}: {piece.path} changed while it was read; try again")
    return data


def _name(tensor: TensorProto) -> str:
    return f"tensor {tensor.name[:80]!r}"


def _tensors(model: onnx.ModelProto) -> Iterator[TensorProto]:
    yield from _of_graph(model.graph)
    for function in model.functions:
        yield from _of_attributes(function.attribute_proto)
        yield from _of_nodes(function.node)


def _of_graph(graph: onnx.GraphProto) -> Iterator[TensorProto]:
    yield from graph.initializer
    for sparse in graph.sparse_initializer:
        yield from (sparse.values, sparse.indices)
    yield from _of_nodes(graph.node)


def _of_nodes(nodes: Iterable[onnx.NodeProto]) -> Iterator[TensorProto]:
    for node in nodes:
        yield from _of_attributes(node.attribute)


def _of_attributes(attributes: Iterable[onnx.AttributeProto]) -> Iterator[TensorProto]:
    for attribute in attributes:
        if attribute.HasField("t"):
            yield attribute.t
        yield from attribute.tensors
        for sparse in (attribute.sparse_tensor, *attribute.sparse_tensors):
            yield from (sparse.values, sparse.indices)
        if attribute.HasField("g"):
            yield from _of_graph(attribute.g)
        for graph in attribute.graphs:
            yield from _of_graph(graph)
