"""A file that is put in its place whole or not at all, with one sentence where that fails."""

from __future__ import annotations

from pathlib import Path

from assay.replaced_file import replaced
from assay.suite.journal import writing


def write_whole(target: Path, data: bytes) -> None:
    with writing(target), replaced(target) as temporary:
        temporary.write_bytes(data)
