"""Cores are lent to one task at a time, over all processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from assay.judge.cores import lent_cores

CORES = sorted(os.sched_getaffinity(0))


@pytest.fixture(autouse=True)
def own_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))


def test_no_core_is_lent_twice() -> None:
    with lent_cores(1) as first:
        assert first == CORES[:1]
        with lent_cores(len(CORES)) as all_of_them:
            assert all_of_them is None, "there are not enough: the kernel chooses"
        with lent_cores(len(CORES) - 1) as rest:
            assert rest == CORES[1:]
    with lent_cores(len(CORES)) as again:
        assert again == CORES


def test_another_process_counts_too() -> None:
    script = (
        "from assay.judge.cores import lent_cores\n"
        "with lent_cores(1) as cores: print(cores, flush=True); input()"
    )
    command = [sys.executable, "-c", script]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline().decode().strip() == str(CORES[:1])
        with lent_cores(len(CORES)) as cores:
            assert cores is None
        other.kill()
        other.wait()
        with lent_cores(len(CORES)) as cores:
            assert cores == CORES, "what a killed process had is free again"


def test_locks_of_somebody_else_are_not_touched(tmp_path: Path) -> None:
    (tmp_path / f"assay-cores-{os.geteuid()}").symlink_to(tmp_path)
    with lent_cores(1) as cores:
        assert cores is None
    assert len(list(tmp_path.iterdir())) == 1
