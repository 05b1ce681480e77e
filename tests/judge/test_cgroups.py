"""Where groups are looked for, and how their files are read and written."""

from __future__ import annotations

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
