"""A file that one command at a time holds; whoever finishes may remove it."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from assay.errors import BadInput


def locked(path: Path, busy: str, flags: int = 0) -> int:
    """An open descriptor of `path`, made where it is missing, with its lock.

    Raises BadInput with the sentence `busy` where another process holds it.
    """
    while True:
        path.parent.mkdir(exist_ok=True)
        handle = os.open(path, os.O_RDWR | os.O_CREAT | flags, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            raise BadInput(busy) from None
        # A command that just finished may have removed the file that was locked.
        if path.exists() and path.stat().st_ino == os.fstat(handle).st_ino:
            return handle
        os.close(handle)
