"""All descendants of one process, found in /proc: how many, what they use, and ending them.

The root is a child subreaper (`prctl(PR_SET_CHILD_SUBREAPER)`), so that a descendant whose parent
died becomes a child of the root, whatever sessions or groups it made: parenthood alone tells who
belongs.
"""
# The supervisor's start-up is paid for every task: modules as common as pathlib, signal and
# contextlib would more than double it.
# ruff: noqa: PTH208

from __future__ import annotations

import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
SIGKILL, SIGTERM, SIGCONT = 9, 15, 18
FIRST_READING_S = 0.2
READING_SHARE = 0.05  # of the time, at most, goes into reading who shares what


class Process:
    """One line of /proc/PID/stat, as far as it matters here."""

    __slots__ = ("cpu_s", "group", "parent", "pid", "resident_bytes", "started")

    def __init__(self, pid: int, stat: bytes) -> None:
        # The command name stands in brackets and may hold anything, brackets included.
        fields = stat[stat.rindex(b")") + 2 :].split()
        self.pid = pid
        self.parent = int(fields[1])
        self.group = int(fields[2])
        # Own time and that of children it has waited for.
        self.cpu_s = sum(int(field) for field in fields[11:15]) / TICKS_PER_SECOND
        self.started = int(fields[19])
        self.resident_bytes = int(fields[21]) * PAGE_BYTES


def read_process(pid: int) -> Process | None:
    """The process as it is now; None when it is gone."""
    try:
        return Process(pid, _read(f"/proc/{pid}/stat"))
    except (OSError, ValueError):
        return None


def all_pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdecimal()]


class ProcessTree:
    """The descendants of `root`, which must be a child subreaper."""

    def __init__(self, root: int) -> None:
        itself = read_process(root)
        if itself is None:
            raise OSError(f"/proc/{root}/stat cannot be read; is /proc mounted?")
        self._root = itself
        # A process older than the root is never a descendant: its file need not be read again
        # until its number disappears from /proc.
        self._older: set[int] = set()

    def members(self) -> list[Process]:
        """Every descendant there is now, zombies included."""
        return list(_descendants(self._root.pid, list(self._younger())))

    def send(self, number: int) -> None:
        """Send a signal to every descendant, and wake the stopped ones so that they get it."""
        for process in self.members():
            for each in (number, SIGCONT):
                _ignoring_gone(os.kill, process.pid, each)

    def kill_once(self) -> None:
        """SIGKILL what can be seen in one pass over /proc.

        Children of the root are killed the moment they are seen: one that forks and exits over and
        over, in a new session each time, would be gone by the end of the pass. Whole groups go
        with each process: that is atomic, so none of their members can slip through.
        """
        seen = []
        for process in self._younger():
            if process.parent == self._root.pid:
                _ignoring_gone(os.kill, process.pid, SIGKILL)
            seen.append(process)
        for process in _descendants(self._root.pid, seen):
            _ignoring_gone(os.kill, process.pid, SIGKILL)
            if process.group != self._root.group:
                _ignoring_gone(os.killpg, process.group, SIGKILL)

    def end(
        self, reap: Callable[[], bool], also_kill: Callable[[], None], patience_s: float
    ) -> None:
        """Kill until `reap` says that no child is left: then no descendant is, either.

        Gives up after `patience_s`: a process may be stuck in the kernel or belong to root.
        """
        give_up = time.monotonic() + patience_s
        pause = 0.0005
        while reap() and time.monotonic() < give_up:
            also_kill()
            self.kill_once()
            if not reap():
                return
            time.sleep(pause)
            pause = min(pause * 1.5, 0.02)

    def _younger(self) -> Iterator[Process]:
        """All processes but those older than the root, newest first as far as numbers tell."""
        listed = all_pids()
        self._older.intersection_update(listed)
        for pid in reversed(listed):
            if pid in self._older or pid == self._root.pid:
                continue
            process = read_process(pid)
            if process is None:
                continue
            if process.started < self._root.started:
                self._older.add(pid)
            else:
                yield process


class MemoryGauge:
    """The most memory that a tree was seen to hold together, pages it shares counted once.

    Who shares what is slow to read, and reading it waits for a process that is forking. So it is
    read only where the plain sum is above the limit, and else for a small share of the time.
    """

    def __init__(self, limit_bytes: int) -> None:
        self.peak_bytes = 0
        self._limit_bytes = limit_bytes
        self._next_reading = time.monotonic() + FIRST_READING_S

    def add(self, size_bytes: int) -> None:
        self.peak_bytes = max(self.peak_bytes, size_bytes)

    def look(self, processes: list[Process]) -> None:
        sizes = [process.resident_bytes for process in processes]
        total = sum(sizes)
        if len(sizes) < 2 or total <= self.peak_bytes:
            self.add(total)
        elif total > self._limit_bytes or time.monotonic() >= self._next_reading:
            started = time.monotonic()
            shared = sum(map(_share_bytes, processes))
            if shared > self._limit_bytes:
                # Processes that end between two readings leave their share to those read later,
                # where it counts again. So the limit is broken only if a second sum says so too.
                shared = min(shared, sum(map(_share_bytes, processes)))
            self.add(shared)
            cost = time.monotonic() - started
            self._next_reading = started + max(FIRST_READING_S, cost / READING_SHARE)
        else:
            self.add(max(sizes))


def _share_bytes(process: Process) -> int:
    if process.resident_bytes == 0:
        return 0
    try:
        rollup = _read(f"/proc/{process.pid}/smaps_rollup")
    except (FileNotFoundError, ProcessLookupError):  # it ended since it was listed
        return 0
    except OSError:
        return process.resident_bytes
    for line in rollup.splitlines():
        if line.startswith(b"Pss:"):
            return int(line.split()[1]) * 1024
    return process.resident_bytes


def _descendants(root: int, candidates: list[Process]) -> Iterator[Process]:
    children: dict[int, list[Process]] = {}
    for process in candidates:
        children.setdefault(process.parent, []).append(process)
    waiting = [root]
    while waiting:
        for process in children.pop(waiting.pop(), ()):
            waiting.append(process.pid)
            yield process


def _ignoring_gone(send: Callable[[int, int], None], target: int, number: int) -> None:
    try:
        send(target, number)
    except (ProcessLookupError, PermissionError):
        return


def _read(path: str) -> bytes:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return os.read(descriptor, 8192)
    finally:
        os.close(descriptor)
