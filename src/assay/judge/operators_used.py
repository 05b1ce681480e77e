"""Which operators a question's network uses, as far as that can be told without running a tool."""

from __future__ import annotations

import zlib
from pathlib import Path

import onnx
from google.protobuf.message import DecodeError

from assay.errors import BadInput, Unsupported
from assay.question.model_file import LARGEST_FILE, model_bytes
from assay.question.network import load_file

_PLAIN_DOMAINS = ("", "ai.onnx")
# Exporters compute shapes with these; whether they are more than that only a reader can tell.
_BOOKKEEPING = frozenset(
    {"Constant", "ConstantOfShape", "Shape", "Size", "Gather", "Slice", "Concat", "Cast", "Range"}
)


def operators_used(path: Path) -> frozenset[str]:
    """The operators of the network, or of the nodes as they are written if we cannot read it.

    An operator of a domain of its own is named `domain.Operator`, which no tool is known to take.
    A file that is no ONNX has none: it is the tool's to refuse.
    """
    try:
        return load_file(path).operators
    except (BadInput, Unsupported):
        return _as_written(path) - _BOOKKEEPING


def _as_written(path: Path) -> frozenset[str]:
    try:
        data = model_bytes(path)
        if len(data) > LARGEST_FILE:
            return frozenset()
        model = onnx.ModelProto.FromString(data)
    except (OSError, EOFError, zlib.error, DecodeError):
        return frozenset()
    return frozenset(
        node.op_type if node.domain in _PLAIN_DOMAINS else f"{node.domain}.{node.op_type}"
        for node in model.graph.node
    )
