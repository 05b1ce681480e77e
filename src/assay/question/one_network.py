"""ONNX bytes that mean one network to every reader; others are refused.

Readers drop protobuf fields that they do not know and keep the last of two where one belongs, and
ONNX Runtime takes bytes in memory that carry the mark of its own format for that format. The walk
over the bytes is the checker's, so that both ask the same.
"""

from __future__ import annotations

from onnx import ModelProto

from assay.errors import BadInput
from assay.proof.arithmetic import Rejected, Unsupported
from assay.proof.wire import check_fields


def refuse_ambiguity(data: bytes, place: str) -> None:
    """`place` names the file in messages."""
    if data[4:8] == b"ORTM":
        raise BadInput(f"{place}: ONNX Runtime takes it for its own format; export the model again")
    try:
        check_fields(data, ModelProto.DESCRIPTOR, most=len(data) + 1, longest=len(data))
    except (Rejected, Unsupported) as reason:
        raise BadInput(f"{place}: {reason}; export the model again") from None
