"""What a task may leave as its result, and what it may put in the way of its logs."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from sandboxed_task import BRIEF, LONG, Task

from assay.errors import BadInput
from assay.judge.task import Limits


@pytest.fixture
def task(tmp_path: Path) -> Task:
    return Task(tmp_path)


def test_a_verdict_written_in_the_grace_is_not_there(task: Task) -> None:
    script = "trap 'echo unsat >result.txt' TERM; while :; do sleep 0.01; done"
    outcome = task.sh(script, BRIEF)
    assert outcome.reason == "wall"
    assert outcome.result is None
    assert not outcome.result_in_time
    assert (task.folder / "result.txt").exists()


def test_a_verdict_changed_in_the_grace_is_kept_as_it_was(task: Task) -> None:
    script = (
        "trap 'echo unsat >result.txt' TERM; echo unknown >result.txt; while :; do sleep 0.01; done"
    )
    outcome = task.sh(script, BRIEF)
    assert outcome.result == b"unknown\n"
    assert not outcome.result_in_time


def test_a_verdict_before_the_limit_is_in_time(task: Task) -> None:
    outcome = task.sh(f"echo unsat >result.txt; {LONG}", BRIEF)
    assert outcome.reason == "wall"
    assert (outcome.result, outcome.result_in_time) == (b"unsat\n", True)


def test_a_crash_after_the_verdict(task: Task) -> None:
    outcome = task.sh("echo unsat >result.txt; kill -SEGV $$")
    assert (outcome.reason, outcome.signal) == ("signalled", signal.SIGSEGV)
    assert (outcome.result, outcome.result_in_time) == (b"unsat\n", True)


def test_garbage_comes_back_as_it_is(task: Task) -> None:
    outcome = task.sh(r"printf '\377\000un\nsat' >result.txt; exit 7")
    assert outcome.exit_code == 7
    assert outcome.result == b"\xff\x00un\nsat"


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        ("ln -s /etc/passwd result.txt", "symbolic link"),
        ("mkfifo result.txt", "FIFO"),
        ("mkdir result.txt", "directory"),
        ("truncate -s 900G result.txt", "larger than"),
        ("chmod 000 . && exit 0", None),
        ("rm -rf ../task", None),
    ],
)
def test_odd_results(task: Task, script: str, problem: str | None) -> None:
    outcome = task.sh(script, Limits(wall_s=40, memory_mb=1 << 20, output_mb=1))
    assert outcome.result is None
    assert not outcome.result_in_time
    assert outcome.reason == "exited"
    assert problem is None or problem in (outcome.result_problem or "")


def test_a_result_behind_a_linked_folder_is_refused(task: Task) -> None:
    outcome = task.sh("ln -s /etc out", result="out/passwd")
    assert outcome.result is None
    assert outcome.result_problem is not None


def test_a_result_in_a_folder_below(task: Task) -> None:
    assert task.sh("mkdir out; echo sat >out/r", result="out/r").result == b"sat\n"


@pytest.mark.parametrize("name", ["../r", "/tmp/r", "a/../../r", "", ".", "a//b", "r/"])
def test_a_result_outside_is_refused_before_anything_runs(task: Task, name: str) -> None:
    with pytest.raises(BadInput, match="inside the task's folder"):
        task.sh("echo sat >../r", result=name)
    assert list(task.outside.iterdir()) == []


def test_an_old_result_is_not_taken_for_a_new_one(task: Task) -> None:
    task.sh("echo unsat >result.txt")
    with pytest.raises(BadInput, match="new folder"):
        task.sh("exit 0")


@pytest.mark.parametrize("trap", ["ln -s ../victim stdout.txt", "mkdir stdout.txt"])
def test_logs_are_never_written_through_what_the_task_put_there(task: Task, trap: str) -> None:
    victim = task.outside / "victim"
    victim.write_text("mine")
    outcome = task.sh(f"{trap}; echo text")
    assert outcome.stdout is not None
    assert outcome.stdout.read_text() == "text\n"
    assert not outcome.stdout.is_symlink()
    assert victim.read_text() == "mine"


def test_moving_the_folder_away_writes_nothing_elsewhere(task: Task) -> None:
    (task.outside / "other").mkdir()
    task.sh("mv ../task ../moved; ln -s other ../task; echo text")
    assert list((task.outside / "other").iterdir()) == []
