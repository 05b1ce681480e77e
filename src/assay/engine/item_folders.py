"""Where items have their folders: in the system's temporary folder, gone when the runner is.

A runner that is killed cannot tidy up, so the next one does it. Each holds a lock on its folder,
which the kernel takes back when the runner ends in whatever way; a folder of ours that nobody has
locked is one that nobody uses.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PREFIX = "assay-tasks-"


@contextmanager
def item_folders() -> Iterator[Path]:
    """An empty folder for items; those of runners that died are removed first."""
    sweep(Path(tempfile.gettempdir()))
    base, lock = _made()
    try:
        yield base
    finally:
        shutil.rmtree(base, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def sweep(place: Path) -> None:
    """Remove the folders of our user's runners that are no more."""
    for folder in place.glob(f"{PREFIX}*"):
        with suppress(OSError):
            found = folder.lstat()
            if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
                continue
            lock = _locked(folder)
            if lock is not None:
                shutil.rmtree(folder, ignore_errors=True)
                os.close(lock)


def _made() -> tuple[Path, int | None]:
    while True:
        base = Path(tempfile.mkdtemp(prefix=PREFIX))
        try:
            lock = _locked(base)
        except FileNotFoundError:
            continue
        except OSError:
            return base, None  # no locks on this file system, so that nobody sweeps there, either
        # Another runner may have swept the folder before it had its lock.
        if lock is not None and base.exists():
            return base, lock
        if lock is not None:
            os.close(lock)


def _locked(folder: Path) -> int | None:
    """An open descriptor that holds the folder's lock; None when another has it."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    except OSError:
        os.close(descriptor)
        raise
    return descriptor
