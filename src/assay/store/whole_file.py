"""Files that appear whole or not at all, with one sentence where the disk refuses."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from assay.errors import BadInput


def unfinished(target: Path) -> Path:
    """Where a file is written before it is moved to `target`."""
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


def write_whole(target: Path, data: bytes | str, *, durable: bool = False) -> None:
    """Replace the file at once; its folder is made where it is missing.

    Text is written as UTF-8; what that cannot hold (half a surrogate pair) becomes `?`. `durable`
    waits until the disk has it.
    """
    content = data.encode("utf-8", "replace") if isinstance(data, str) else data
    with writing(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        with replaced(target) as temporary, temporary.open("wb") as stream:
            stream.write(content)
            if durable:
                stream.flush()
                os.fsync(stream.fileno())


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn a failure of the disk into one sentence."""
    try:
        yield
    except OSError as error:
        raise BadInput(
            f"cannot write {error.filename or path}: {error.strerror}; make room or choose "
            "another folder, and run the same command again"
        ) from None


def made_folder(folder: Path) -> Path:
    """The folder, made with its parents where it is missing; BadInput where that fails."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"{folder}: cannot be made ({error.strerror}); choose another") from None
    return folder
