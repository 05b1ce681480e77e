"""An ONNX file as one model with all its weights, whoever runs or reads it afterwards.

Weights that lie beside the file are part of it: they are inlined here, and `ModelFile.sha256` is
that of the whole, so that a change of either file is noticed.
"""

from __future__ import annotations

import gzip
import hashlib
import zlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import onnx
from google.protobuf.message import DecodeError

from assay.errors import BadInput
from assay.question.external_data import LARGEST_MODEL, external_tensors, inline
from assay.question.one_network import refuse_ambiguity
from assay.store.file_hash import file_sha256

LARGEST_FILE = LARGEST_MODEL
_PIECE = 2**20
_MARK = b"location"
"""Every tensor whose data lies elsewhere has this key; a file without the word has none."""


@dataclass(frozen=True, eq=False)
class ModelFile:
    """`data` is the model in one piece: the file itself, or made anew where weights lay beside."""

    model: onnx.ModelProto
    data: bytes
    place: str

    @cached_property
    def sha256(self) -> str:
        return hashlib.sha256(self.data).hexdigest()


def read_model(path: str | Path) -> ModelFile:
    """Read `path`, a `.onnx` file or a gzip-ed `.onnx.gz` one, and what lies beside it."""
    place = str(path)
    try:
        data = model_bytes(Path(path))
    except (OSError, EOFError, zlib.error) as error:
        raise BadInput(f"{place}: cannot be read ({error}); check the path and the file") from None
    if len(data) > LARGEST_FILE:
        raise BadInput(f"{place}: holds more than {LARGEST_FILE} bytes; use a smaller network")
    model = parse(data, place)
    if _MARK in data and external_tensors(model):
        inline(model, Path(path).parent, place)
        data = bytes(model.SerializeToString(deterministic=True))
    return ModelFile(model, data, place)


def model_bytes(path: Path) -> bytes:
    """What the file holds, unpacked; of one that is too large, a byte more than the limit.

    Piece by piece: `file.read(size)` takes memory for `size` bytes before it reads any.
    """
    pieces, left = [], LARGEST_FILE + 1
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
        while left > 0 and (piece := file.read(min(left, _PIECE))):
            pieces.append(piece)
            left -= len(piece)
    return b"".join(pieces)


def parse(data: bytes, place: str) -> onnx.ModelProto:
    """The message in `data`, which must hold a graph."""
    if not data:
        raise BadInput(f"{place}: the file is empty; give an ONNX model")
    try:
        model = onnx.ModelProto.FromString(data)
    except DecodeError:
        raise BadInput(f"{place}: not an ONNX file (no protobuf); give an ONNX model") from None
    refuse_ambiguity(data, place)
    if not model.HasField("graph") or not model.graph.node:
        raise BadInput(f"{place}: holds no graph; give an ONNX model")
    return model


def weights_beside(path: Path) -> bool:
    """Whether data of the model lies in other files; False for what is no model."""
    return bool(files_beside(path))


def files_beside(path: Path) -> list[Path]:
    """The other files in which data of the model lies; none for what is no model."""
    try:
        data = model_bytes(path)
        if len(data) > LARGEST_FILE or _MARK not in data:
            return []
        tensors = external_tensors(onnx.ModelProto.FromString(data))
    except (OSError, EOFError, zlib.error, DecodeError):
        return []
    named = (e.value for t in tensors for e in t.external_data if e.key == "location")
    return [path.parent / name for name in dict.fromkeys(named)]


def network_sha256(path: Path) -> str:
    """Of an ONNX file, or of the whole model where its weights lie in other files."""
    return read_model(path).sha256 if weights_beside(path) else file_sha256(path)


def question_sha256(path: Path) -> str:
    """Of either file of a question."""
    return network_sha256(path) if ".onnx" in path.suffixes else file_sha256(path)


def question_files(onnx: Path, vnnlib: Path) -> list[Path]:
    """All files that a question is made of."""
    beside = [file for file in files_beside(onnx) if file.is_file()]
    return [onnx, *beside, vnnlib]
