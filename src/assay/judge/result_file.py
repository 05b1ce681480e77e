"""Read the result file that a task left, trusting nothing about it."""
# The supervisor's start-up is paid for every task: only light modules are imported here.

from __future__ import annotations

import os
import stat


def is_plain_relative_path(name: str) -> bool:
    """Whether `name` can only mean a file below the folder it is used in."""
    parts = name.split("/")
    return "\0" not in name and all(part not in ("", ".", "..") for part in parts)


def read_result(folder: int, name: str, most_bytes: int) -> tuple[bytes | None, str | None]:
    """The file's bytes, or None with what is wrong with it; (None, None) when there is none.

    `folder` is an open directory, so that the task cannot swap it for another. No symbolic link
    is followed in any part of the path, and opening never waits (a FIFO would).
    """
    *parents, last = name.split("/")
    opened: list[int] = []
    try:
        for parent in parents:
            flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
            folder = os.open(parent, flags, dir_fd=folder)
            opened.append(folder)
        kind = os.stat(last, dir_fd=folder, follow_symlinks=False).st_mode
        if not stat.S_ISREG(kind):
            return None, f"the result is {_describe(kind)}, not a regular file"
        file = os.open(last, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
        opened.append(file)
        return _read_regular(file, most_bytes)
    except FileNotFoundError:
        return None, None
    except OSError as error:
        return None, f"the result cannot be read ({error.strerror})"
    finally:
        for descriptor in opened:
            os.close(descriptor)


def _read_regular(file: int, most_bytes: int) -> tuple[bytes | None, str | None]:
    # Asked again: the file may have been replaced between looking and opening.
    if not stat.S_ISREG(os.fstat(file).st_mode):
        return None, "the result is not a regular file"
    chunks: list[bytes] = []
    size = os.fstat(file).st_size
    while size <= most_bytes:
        chunk = os.read(file, 1 << 20)
        if not chunk:
            return b"".join(chunks), None
        chunks.append(chunk)
        size = sum(map(len, chunks))
    return None, f"the result is larger than {most_bytes} bytes"


def _describe(mode: int) -> str:
    if stat.S_ISLNK(mode):
        return "a symbolic link"
    if stat.S_ISDIR(mode):
        return "a directory"
    if stat.S_ISFIFO(mode):
        return "a FIFO"
    return "a device or socket"
