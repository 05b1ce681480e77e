"""A file that is put in its place whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


def unfinished(target: Path) -> Path:
    """Where it is written before it is moved to `target`."""
    return target.with_name(f".{target.name}.new")


@contextmanager
def replaced(target: Path) -> Iterator[Path]:
    """Write to the path that is given; it takes the target's place when all is written."""
    temporary = unfinished(target)
    try:
        yield temporary
        temporary.replace(target)
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
