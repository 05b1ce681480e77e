"""An instance in memory: a question, its truth and the arrays of its certificate."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace

from assay.truth.record import Truth


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@dataclass(frozen=True)
class Instance:
    """`arrays` is the binary part of the certificate, written beside the truth as NAME.bin."""

    name: str
    onnx: bytes
    vnnlib: bytes
    truth: Truth
    arrays: bytes | None = field(default=None, repr=False)

    def renamed(self, name: str, twin: str | None) -> Instance:
        return replace(self, name=name, truth=replace(self.truth, twin=twin))
