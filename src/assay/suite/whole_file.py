"""A file that is put in its place whole or not at all."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from assay.suite.journal import writing


def unfinished(target: Path) -> Path:
    """Where it is written before it is moved to `target`."""
    return target.with_name(f".{target.name}.new")


def write_whole(target: Path, data: bytes) -> None:
    temporary = unfinished(target)
    try:
        with writing(target):
            temporary.write_bytes(data)
            temporary.replace(target)
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
