"""The sha256 of a file, read piece by piece."""

from __future__ import annotations

import hashlib
from pathlib import Path

from assay.errors import BadInput


def file_sha256(path: Path, remedy: str = "restore it") -> str:
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise BadInput(f"{path}: cannot be read ({error.strerror}); {remedy}") from None
