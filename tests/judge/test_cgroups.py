"""Where groups are looked for, and how their files are read and written."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.judge.cgroups import TaskGroups, own_folders

V2_MOUNT = "35 24 0:30 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate"
V1_MOUNTS = """\
30 24 0:26 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755
31 30 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu
32 30 0:28 /docker/abc /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
33 30 0:29 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids
34 30 0:30 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
"""


def test_own_group_in_v2() -> None:
    assert own_folders(V2_MOUNT, "0::/user.slice/run.scope\n") == {
        "": "/sys/fs/cgroup/user.slice/run.scope"
    }


def test_own_groups_in_a_mixed_layout_seen_from_a_container() -> None:
    memberships = "9:cpu:/\n4:memory:/docker/abc/inner\n8:pids:/\n0::/\n"
    assert own_folders(V1_MOUNTS, memberships) == {
        "memory": "/sys/fs/cgroup/memory/inner",
        "pids": "/sys/fs/cgroup/pids",
        "": "/sys/fs/cgroup/unified",
    }


def folder_with(path: Path, **files: str) -> str:
    path.mkdir()
    for name, text in files.items():
        (path / name.replace("__", ".")).write_text(text)
    return str(path)


def test_v2_files(tmp_path: Path) -> None:
    folder = folder_with(
        tmp_path / "v2",
        pids__max="max",
        memory__max="max",
        memory__peak="5000000\n",
        memory__events="low 0\noom 1\noom_kill 1\n",
        cpu__stat="usage_usec 2500000\nuser_usec 1\n",
        cgroup__procs="12\n40\n",
    )
    groups = TaskGroups({"": folder})
    assert groups.limit(memory_bytes=1000, tasks=7)
    assert (tmp_path / "v2/memory.max").read_text().startswith("1000")
    assert (tmp_path / "v2/pids.max").read_text().startswith("7")
    assert groups.memory_peak_bytes() == 5_000_000
    assert groups.ran_out_of_memory()
    assert groups.cpu_s() == 2.5
    assert groups.members() == {12, 40}


def test_v1_files(tmp_path: Path) -> None:
    folder = folder_with(
        tmp_path / "v1",
        memory__limit_in_bytes="9",
        memory__max_usage_in_bytes="777",
        memory__oom_control="oom_kill_disable 0\nunder_oom 0\noom_kill 0\n",
    )
    groups = TaskGroups({"memory": folder})
    assert groups.limit(memory_bytes=1000, tasks=7)
    assert (tmp_path / "v1/memory.limit_in_bytes").read_text() == "1000"
    assert groups.memory_peak_bytes() == 777
    assert not groups.ran_out_of_memory()


@pytest.mark.parametrize("folders", [{}, {"": "/no/such/group", "pids": "/no/such/group"}])
def test_without_groups_nothing_is_counted_and_nothing_fails(folders: dict[str, str]) -> None:
    groups = TaskGroups(folders)
    groups.make()
    groups.join()
    groups.kill()
    assert not groups.limit(1000, 7)
    assert groups.cpu_s() == groups.memory_peak_bytes() == 0
    assert not groups.ran_out_of_memory()
    assert groups.members() == set()
    groups.remove(patience_s=0)


@pytest.fixture
def real_memory_group() -> Iterator[TaskGroups]:
    """A group with a memory controller at the root of a hierarchy, where we may make one."""
    name = f"assay-test-{os.getpid()}-{time.monotonic_ns()}"
    for controller, root, limit in (
        ("memory", "/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
        ("", "/sys/fs/cgroup", "memory.max"),
    ):
        groups = TaskGroups({controller: f"{root}/{name}"})
        groups.make()
        if groups and Path(root, name, limit).exists():
            yield groups
            groups.kill()
            groups.remove()
            return
        groups.remove()
    pytest.skip("no control group with a memory controller can be made here")


def test_the_kernel_keeps_the_memory_limit(real_memory_group: TaskGroups) -> None:
    groups = real_memory_group
    assert groups.limit(40 << 20, 20)
    hog = (
        "import time\nhoard = []\n"
        "for _ in range(100):\n    hoard.append(bytearray(b'x') * (4 << 20))\n    time.sleep(0.01)"
    )
    ended = subprocess.run(
        [sys.executable, "-I", "-S", "-c", hog], preexec_fn=groups.join, timeout=60, check=False
    )
    assert ended.returncode == -signal.SIGKILL
    assert groups.ran_out_of_memory()
    assert 0 < groups.memory_peak_bytes() <= 44 << 20
    assert groups.members() == set()


def test_what_stays_within_the_limit_is_left_alone(real_memory_group: TaskGroups) -> None:
    groups = real_memory_group
    assert groups.limit(200 << 20, 20)
    small = [sys.executable, "-I", "-S", "-c", "hoard = bytearray(b'x') * (20 << 20)"]
    assert subprocess.run(small, preexec_fn=groups.join, timeout=60, check=False).returncode == 0
    assert not groups.ran_out_of_memory()
    assert groups.memory_peak_bytes() > 20 << 20
