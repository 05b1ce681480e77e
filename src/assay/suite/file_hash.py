"""The sha256 of a file, read piece by piece; of a network with the weights beside it."""

from __future__ import annotations

import hashlib
from pathlib import Path

from assay.errors import BadInput
from assay.question.model_file import read_model, weights_beside


def file_sha256(path: Path, remedy: str = "restore it") -> str:
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise BadInput(f"{path}: cannot be read ({error.strerror}); {remedy}") from None


def network_sha256(path: Path) -> str:
    """Of an ONNX file, or of the whole model where its weights lie in other files."""
    return read_model(path).sha256 if weights_beside(path) else file_sha256(path)


def question_sha256(path: Path) -> str:
    """Of either file of a question."""
    return network_sha256(path) if ".onnx" in path.suffixes else file_sha256(path)
