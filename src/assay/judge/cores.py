"""Cores lent to one task at a time, over all processes of this user on the machine.

Each core has a lock file; whoever holds the lock has the core. So two runs side by side, or
several Dask workers on one machine, do not pin their tools to the same core, and what a killed
process had is free again at once.
"""

from __future__ import annotations

import fcntl
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path


@contextmanager
def lent_cores(wanted: int) -> Iterator[list[int] | None]:
    """Cores for one task; None (no pinning, the kernel chooses) when there are not enough free."""
    with ExitStack() as held:
        lent: list[int] = []
        for core, file in _lock_files():
            if len(lent) < wanted and _lock(file, held):
                lent.append(core)
        if len(lent) < wanted:
            held.close()
        yield lent if len(lent) == wanted else None


def _lock_files() -> Iterator[tuple[int, Path]]:
    """The cores we may use with their files, in a folder that nobody else can write to."""
    folder = Path(tempfile.gettempdir()) / f"assay-cores-{os.geteuid()}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        about = folder.lstat()
    except OSError:
        return
    if stat.S_ISDIR(about.st_mode) and about.st_uid == os.geteuid() and not about.st_mode & 0o022:
        for core in sorted(os.sched_getaffinity(0)):
            yield core, folder / str(core)


def _lock(file: Path, held: ExitStack) -> bool:
    try:
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return False
    held.callback(os.close, descriptor)
    return True
