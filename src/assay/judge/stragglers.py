"""The second net: kill what is left of a task whose supervisor is gone."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from assay.judge.cgroups import groups_of_task
from assay.judge.process_tree import all_pids

PATIENCE_S = 10.0


def processes_marked(mark: str) -> list[int]:
    """The processes, of those we may look into, that were started with `mark` (NAME=VALUE)."""
    entry = mark.encode()
    return [pid for pid in all_pids() if entry in _environment_entries(pid)]


def kill_stragglers(mark: str, token: str) -> None:
    """Kill every process of the task: those that carry its mark, and those in its groups."""
    groups = groups_of_task(token)
    give_up = time.monotonic() + PATIENCE_S
    while time.monotonic() < give_up:
        groups.kill()
        marked = processes_marked(mark)
        for pid in marked:
            try:
                os.kill(pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                continue
        if not marked and not groups.members():
            break
        time.sleep(0.01)
    groups.remove()


def _environment_entries(pid: int) -> list[bytes]:
    try:
        # Empty for a zombie: there is nothing left to kill.
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return []
