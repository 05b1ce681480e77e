"""Tasks that turn on the processes that watch them: nothing is gained, and nothing goes on."""

from __future__ import annotations

import os
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import pytest
from process_search import pids_with
from sandboxed_task import ROOMY, Task, with_and_without_cgroups

from assay.judge import sandbox
from assay.judge.process_tree import read_process
from assay.judge.stragglers import Traces, processes_of_task
from assay.judge.task import Limits

# A daemon with no trace of its task: no environment, session, parent or folder in common.
DAEMON = """
import os, signal, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.chdir("/")
        os.execve("/bin/sleep", ["sleep", "600", "0.{mark}"], {{}})
    os._exit(0)
os.wait()
time.sleep(0.1)
supervisor = os.getppid()
guardian = int(open(f"/proc/{{supervisor}}/stat").read().rpartition(")")[2].split()[1])
open("result.txt", "w").write("unsat")
"""

KILLS = {
    "SIGKILL": "os.kill(supervisor, signal.SIGKILL)",
    "SIGTERM": "os.kill(supervisor, signal.SIGTERM)",
    "SIGINT": "os.kill(supervisor, signal.SIGINT)",
    "its group": "os.killpg(os.getpgid(supervisor), signal.SIGKILL)",
    "the guardian": "os.kill(guardian, signal.SIGKILL)",
    "the guardian, SIGINT": "os.kill(guardian, signal.SIGINT)",
    "stops it again and again": "while True: os.kill(supervisor, signal.SIGSTOP)",
}


@pytest.fixture
def task(tmp_path: Path) -> Task:
    return Task(tmp_path)


def number() -> str:
    """What `sleep` takes for a number of seconds, and nobody else has in its command."""
    return f"{os.getpid()}{time.monotonic_ns()}"


@with_and_without_cgroups
@pytest.mark.parametrize("name", KILLS)
def test_killing_the_watcher_ends_the_task(task: Task, name: str, use_cgroups: bool) -> None:
    mark = number()
    script = DAEMON.format(mark=mark) + KILLS[name] + "\ntime.sleep(600)"
    outcome = task.python(script, ROOMY, use_cgroups=use_cgroups)
    assert pids_with(f"0.{mark}") == []
    assert outcome.reason == "signalled"
    assert outcome.wall_s < ROOMY.wall_s
    # It was written before, but nobody can say when.
    assert outcome.result is None
    assert "watched" in str(outcome.result_problem)


@pytest.mark.parametrize("watcher", ["supervisor", "guardian"])
def test_stopping_the_watcher_changes_nothing(task: Task, watcher: str) -> None:
    mark = number()
    script = f"\nos.kill({watcher}, signal.SIGSTOP)\ntime.sleep(0.4)"
    outcome = task.python(DAEMON.format(mark=mark) + script)
    assert (outcome.reason, outcome.exit_code, outcome.result) == ("exited", 0, b"unsat")
    assert pids_with(f"0.{mark}") == []


def test_stopping_both_again_and_again_ends_the_task(
    task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sandbox, "RESCUE_S", 0.5)
    mark = number()
    loop = "while True:\n    for each in (guardian, supervisor): os.kill(each, signal.SIGSTOP)"
    outcome = task.python(DAEMON.format(mark=mark) + loop, Limits(wall_s=1.0, memory_mb=1000.0))
    assert outcome.reason in ("signalled", "wall")
    assert pids_with(f"0.{mark}") == []


def test_waiting_for_a_lost_supervisor_is_not_the_tasks_time() -> None:
    limits = Limits(wall_s=2.0, memory_mb=1000.0)
    outcome = sandbox._outcome_without_supervisor(32.5, limits)
    assert (outcome.reason, outcome.wall_s) == ("wall", 2.0)


def test_a_process_is_told_by_its_folder_unless_it_is_older(tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "600"], cwd=tmp_path) as there:
        itself = read_process(there.pid)
        assert itself is not None
        since = Traces("NO=mark", "0" * 24, tmp_path, itself.started)
        assert processes_of_task(since) == {there.pid}
        assert processes_of_task(replace(since, since=itself.started + 1)) == set()
        assert processes_of_task(replace(since, folder=tmp_path / "task")) == set()
        there.kill()
