"""Find processes by a mark in their command line, and wait for what others bring about."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from assay.judge.process_tree import all_pids

PATIENCE_S = 60.0


def wait_until(fulfilled: Callable[[], object], patience_s: float = PATIENCE_S) -> None:
    give_up = time.monotonic() + patience_s
    while not fulfilled():
        assert time.monotonic() < give_up, "it did not happen in time"
        time.sleep(0.05)


def pids_with(mark: str) -> list[int]:
    """The processes whose command line holds the mark."""
    found = []
    for pid in all_pids():
        try:
            line = Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            continue
        if mark.encode() in line and pid != os.getpid():
            found.append(pid)
    return found
