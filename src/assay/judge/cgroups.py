"""Control groups for one task, v2 or v1, in the hierarchies where this process may make them.

A group is made below our own one only where that is ours to divide: the root of the hierarchy as
we see it, a folder that our user owns, or one that systemd marked as delegated. A group of some
other manager is left alone. Each hierarchy stands by itself and none is needed: without them the
supervisor counts in /proc.
"""
# The supervisor's start-up is paid for every task: modules as common as pathlib, signal and
# contextlib would more than double it.
# ruff: noqa: PTH102, PTH106, PTH110, PTH116, PTH120, PTH123

from __future__ import annotations

import os
import time

from assay.judge.process_tree import SIGKILL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

CONTROLLERS = ("", "memory", "pids")  # "" is the v2 hierarchy, with all it has


class TaskGroups:
    """The groups of one task: a folder for each hierarchy that lends one."""

    def __init__(self, folders: dict[str, str]) -> None:
        self._folders = folders

    def __bool__(self) -> bool:
        return bool(self._folders)

    def make(self) -> None:
        """Create the folders; a hierarchy that refuses is left out."""
        for controller, folder in list(self._folders.items()):
            try:
                os.mkdir(folder)
            except OSError:
                del self._folders[controller]

    def limit(self, memory_bytes: int, tasks: int) -> bool:
        """Set the limits where there is a controller for them; say whether memory has one."""
        self._write("", "pids.max", tasks)
        self._write("pids", "pids.max", tasks)
        # Swap would let a task go on beyond its memory at a crawl.
        self._write("", "memory.swap.max", 0)
        limited = self._write("", "memory.max", memory_bytes)
        return self._write("memory", "memory.limit_in_bytes", memory_bytes) or limited

    def join(self) -> None:
        """Move the calling process in; what it starts later is born inside."""
        for controller in self._folders:
            self._write(controller, "cgroup.procs", 0)

    def kill(self) -> None:
        """SIGKILL everything inside: at once where the kernel has cgroup.kill, else one by one."""
        if self._write("", "cgroup.kill", 1):
            return
        for pid in self.members():
            try:
                os.kill(pid, SIGKILL)
            except (ProcessLookupError, PermissionError):
                continue

    def members(self) -> set[int]:
        """All processes inside any of the groups."""
        return {
            int(pid)
            for controller in self._folders
            for pid in (self._read(controller, "cgroup.procs") or "").split()
        }

    def cpu_s(self) -> float:
        """CPU seconds of all that was ever inside; 0 where nobody counts."""
        for line in (self._read("", "cpu.stat") or "").splitlines():
            if line.startswith("usage_usec "):
                return int(line.split()[1]) / 1e6
        return 0.0

    def memory_peak_bytes(self) -> int:
        """The most memory held together at any moment; 0 where nobody counts."""
        peaks = (self._read("", "memory.peak"), self._read("memory", "memory.max_usage_in_bytes"))
        return max(int(peak or 0) for peak in peaks)

    def ran_out_of_memory(self) -> bool:
        """Whether the kernel killed a process inside for going over the memory limit."""
        records = (self._read("", "memory.events"), self._read("memory", "memory.oom_control"))
        return any(
            line.startswith("oom_kill ") and line.split()[1] != "0"
            for record in records
            for line in (record or "").splitlines()
        )

    def remove(self, patience_s: float = 1.0) -> None:
        """Delete the folders; the kernel may take a moment to see that they are empty."""
        give_up = time.monotonic() + patience_s
        for folder in self._folders.values():
            while True:
                try:
                    os.rmdir(folder)
                except FileNotFoundError:
                    break
                except OSError:
                    if time.monotonic() > give_up:
                        break
                    time.sleep(0.002)
                else:
                    break

    def _write(self, controller: str, name: str, value: int) -> bool:
        folder = self._folders.get(controller)
        if folder is None:
            return False
        try:
            descriptor = os.open(f"{folder}/{name}", os.O_WRONLY)
        except OSError:
            return False
        try:
            os.write(descriptor, str(value).encode())
        except OSError:
            return False
        finally:
            os.close(descriptor)
        return True

    def _read(self, controller: str, name: str) -> str | None:
        folder = self._folders.get(controller)
        if folder is None:
            return None
        try:
            with open(f"{folder}/{name}", encoding="ascii") as stream:
                return stream.read()
        except OSError:
            return None


def groups_of_task(token: str) -> TaskGroups:
    """The groups that a task of this token has or may make; the same from any of our processes."""
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as stream:
        mounts = stream.read()
    with open("/proc/self/cgroup", encoding="utf-8", errors="surrogateescape") as stream:
        memberships = stream.read()
    return TaskGroups(
        {
            controller: f"{parent}/assay-{token}"
            for controller, parent in own_folders(mounts, memberships).items()
            if _ours_to_divide(parent)
        }
    )


def own_folders(mounts: str, memberships: str) -> dict[str, str]:
    """Where our own group lies in each hierarchy, from the texts of mountinfo and cgroup."""
    paths: dict[str, str] = {}
    for line in memberships.splitlines():
        _, names, path = line.split(":", 2)
        for name in names.split(","):
            paths[name] = path
    return {
        controller: _below(point, root, paths[controller])
        for point, root, controllers in _hierarchies(mounts)
        for controller in controllers
        if controller in paths
    }


def _hierarchies(mounts: str) -> Iterator[tuple[str, str, list[str]]]:
    """Mount point, root within the hierarchy and controllers of each mounted hierarchy."""
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        root, point = before.split()[3:5]
        kind, _, options = after.split(" ", 2)
        if kind == "cgroup2":
            yield point, root, [""]
        elif kind == "cgroup":
            named = options.split(",")
            yield point, root, [each for each in CONTROLLERS if each and each in named]


def _below(point: str, root: str, path: str) -> str:
    """The folder of group `path` where the mount shows the hierarchy from `root` downwards."""
    if root != "/" and (path == root or path.startswith(root + "/")):
        path = path[len(root) :]
    return (point + path).rstrip("/")


def _ours_to_divide(folder: str) -> bool:
    if not os.access(folder, os.W_OK) or not os.access(f"{folder}/cgroup.procs", os.W_OK):
        return False
    is_root = not os.path.exists(f"{os.path.dirname(folder)}/cgroup.procs")
    owner = os.stat(folder).st_uid
    return is_root or owner == os.geteuid() != 0 or _marked_delegated(folder)


def _marked_delegated(folder: str) -> bool:
    for name in ("trusted.delegate", "user.delegate"):
        try:
            if os.getxattr(folder, name) == b"1":
                return True
        except OSError:
            continue
    return False
