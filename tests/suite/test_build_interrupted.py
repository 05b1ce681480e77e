"""Builds that are stopped from outside: nothing is lost, nothing is left running."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from test_build import contents

pytestmark = pytest.mark.usefixtures("tiny")

SUITE = "name: a\nfamilies:\n  - {family: tiny, count: 8, fixed: {sleep: 0.5}}\n"


@pytest.fixture
def start(tmp_path: Path) -> Callable[[str], subprocess.Popen[str]]:
    suite = tmp_path / "a.yaml"
    suite.write_text(SUITE)

    def started(folder: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "assay.cli.main", "build", str(suite), "--jobs", "2"]
        return subprocess.Popen(
            [*command, "-o", str(tmp_path / folder)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    return started


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 240
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def records(folder: Path) -> int:
    return len(list((folder / ".build/done").glob("*.json")))


def living(session: int) -> list[int]:
    """Processes of a session that are not yet dead (Linux)."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            if int(fields[3]) == session and fields[0] != "Z":
                found.append(int(entry.name))
    return found


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at processes in /proc")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_stopped_build_continues_to_the_same_bytes(
    tmp_path: Path, start: Callable[[str], subprocess.Popen[str]], how: signal.Signals
) -> None:
    process = start("out")
    until(lambda: records(tmp_path / "out") >= 2)
    if how is signal.SIGINT:
        os.killpg(process.pid, how)  # as a terminal does: the workers get it too
    else:
        process.kill()
    _, errors = process.communicate(timeout=240)
    until(lambda: not living(process.pid))
    if how is signal.SIGINT:
        assert process.returncode == 130
        assert "run the same command again to continue" in errors
        assert "Traceback" not in errors
    finished = records(tmp_path / "out")
    assert 2 <= finished < 8
    kept = next((tmp_path / "out/.build/done").glob("*.json")).stem
    before = (tmp_path / f"out/onnx/{kept}-robust.onnx").stat().st_mtime_ns

    again = start("out")
    _, errors = again.communicate(timeout=240)
    assert again.returncode == 0, errors
    assert f"{finished} of 8 were done before" in errors
    assert (tmp_path / f"out/onnx/{kept}-robust.onnx").stat().st_mtime_ns == before
    whole = start("whole")
    whole.communicate(timeout=240)
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")


def test_the_second_of_two_builds_is_refused(
    tmp_path: Path, start: Callable[[str], subprocess.Popen[str]]
) -> None:
    first = start("out")
    until(lambda: records(tmp_path / "out") >= 1)
    os.kill(first.pid, signal.SIGSTOP)  # however slow the machine, it is not done yet
    second = start("out")
    _, errors = second.communicate(timeout=240)
    assert second.returncode == 2
    assert "another build is writing here" in errors
    os.kill(first.pid, signal.SIGCONT)
    first.communicate(timeout=240)
    assert first.returncode == 0
