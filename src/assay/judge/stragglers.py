"""The last net: kill what is left of a task when those that watched it are gone."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from assay.judge.cgroups import groups_of_task
from assay.judge.process_tree import all_pids, read_process

PATIENCE_S = 10.0


@dataclass(frozen=True)
class Traces:
    """How processes of one task can be told: `mark` is NAME=VALUE in their environment.

    Whoever works in the task's `folder` counts, too, unless it is older than the task (`since`, in
    the ticks of /proc): that may be a person who looks at it.
    """

    mark: str
    token: str
    folder: Path
    since: int


def kill_stragglers(traces: Traces) -> None:
    """Kill every process of the task that can be told, and all that descends from it."""
    groups = groups_of_task(traces.token)
    give_up = time.monotonic() + PATIENCE_S
    while time.monotonic() < give_up:
        groups.kill()
        found = processes_of_task(traces)
        for pid in found:
            try:
                os.kill(pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                continue
        if not found and not groups.members():
            break
        time.sleep(0.01)
    groups.remove()


def processes_of_task(traces: Traces) -> set[int]:
    """The processes with a trace of the task, of those we may look into, and their descendants."""
    children: dict[int, list[int]] = {}
    waiting = []
    for pid in all_pids():
        process = read_process(pid)
        if process is None or process.started < traces.since:
            continue
        children.setdefault(process.parent, []).append(pid)
        if _has_trace(pid, traces):
            waiting.append(pid)
    found: set[int] = set()
    while waiting:
        pid = waiting.pop()
        if pid not in found and not _is_dead(pid):
            found.add(pid)
            waiting += children.get(pid, ())
    return found


def _has_trace(pid: int, traces: Traces) -> bool:
    try:
        if traces.mark.encode() in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
            return True
        place = Path(os.readlink(f"/proc/{pid}/cwd"))  # noqa: PTH115 (it may be gone)
    except OSError:
        return False
    return place.is_relative_to(traces.folder)


def _is_dead(pid: int) -> bool:
    """Whether it is a zombie: there is nothing left to kill."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return True
    return stat[stat.rindex(b")") + 2 :].startswith((b"Z", b"X"))
