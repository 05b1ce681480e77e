"""Tasks that behave, and tasks that do all they can to outlive or outgrow their limits.

Every hostile task is a real process. Waits are generous, for machines under load.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
from sandboxed_task import BRIEF, LONG, ROOMY, Task, with_and_without_cgroups

from assay.errors import BadInput
from assay.judge import sandbox
from assay.judge.task import Limits


@pytest.fixture
def task(tmp_path: Path) -> Task:
    return Task(tmp_path)


# A task that behaves.


@with_and_without_cgroups
def test_an_orderly_task_is_reported_whole(task: Task, use_cgroups: bool) -> None:
    outcome = task.sh("echo said; echo warned >&2; echo unsat >result.txt", use_cgroups=use_cgroups)
    assert (outcome.reason, outcome.exit_code, outcome.signal) == ("exited", 0, None)
    assert outcome.stdout == task.folder / "stdout.txt"
    assert outcome.stdout.read_text() == "said\n"
    assert outcome.stderr is not None
    assert outcome.stderr.read_text() == "warned\n"
    assert outcome.result == b"unsat\n"
    assert outcome.result_in_time
    assert outcome.result_problem is None
    assert 0 < outcome.wall_s < 45
    assert outcome.memory_mb > 0


def test_it_sees_only_its_own_surroundings(task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_KEY", "abc")
    monkeypatch.setenv("PYTHONPATH", "/nowhere")
    outcome = task.python(
        """
        import os, sys, tempfile
        assert os.listdir("/proc/self/fd") == ["0", "1", "2", "3"]  # the last one lists
        assert "SECRET_KEY" not in os.environ and "PYTHONPATH" not in os.environ
        assert sys.stdin.read() == ""
        assert os.getsid(0) == os.getpid() != os.getppid()
        assert os.path.dirname(tempfile.mkstemp()[1]) == os.path.join(os.getcwd(), "tmp")
        print(os.getcwd())
        """
    )
    assert outcome.exit_code == 0, outcome.stderr and outcome.stderr.read_text()
    assert outcome.stdout is not None
    assert outcome.stdout.read_text().strip() == str(task.folder)


def test_it_is_pinned_to_its_cores(task: Task) -> None:
    core = min(os.sched_getaffinity(0))
    outcome = task.python("import os; print(os.sched_getaffinity(0))", cores=[core])
    assert outcome.stdout is not None
    assert outcome.stdout.read_text().strip() == str({core})


def test_ordinary_signals_reach_it(task: Task) -> None:
    outcome = task.sh("yes | head -1; kill -PIPE $$; echo ignored >result.txt")
    assert (outcome.reason, outcome.signal) == ("signalled", signal.SIGPIPE)
    assert outcome.result is None


def test_time_and_memory_of_children_count(task: Task) -> None:
    outcome = task.python(
        """
        import os, time
        if os.fork() == 0:
            block = bytearray(b"x") * 150_000_000
            while time.process_time() < 0.4: pass
            os._exit(0)
        os.wait()
        """
    )
    assert outcome.cpu_s >= 0.4
    assert outcome.memory_mb > 140


def test_memory_shared_by_children_counts_once(task: Task) -> None:
    outcome = task.python(
        """
        import os, time
        block = bytearray(b"x") * 150_000_000
        for _ in range(6):
            if os.fork() == 0:
                time.sleep(0.5); os._exit(0)
        for _ in range(6): os.wait()
        """,
        Limits(wall_s=60, memory_mb=400),
    )
    assert outcome.reason == "exited"
    assert 140 < outcome.memory_mb < 300


# Limits.


@with_and_without_cgroups
def test_wall_limit_ends_even_who_ignores_sigterm(task: Task, use_cgroups: bool) -> None:
    outcome = task.sh(f"trap '' TERM; {LONG}; {LONG}", BRIEF, use_cgroups=use_cgroups)
    assert outcome.reason == "wall"
    assert outcome.wall_s >= BRIEF.wall_s
    assert outcome.signal == signal.SIGKILL


def test_sigterm_comes_first(task: Task) -> None:
    outcome = task.sh("trap 'echo bye; exit 3' TERM; while :; do sleep 0.01; done", BRIEF)
    assert (outcome.reason, outcome.exit_code) == ("wall", 3)
    assert outcome.stdout is not None
    assert outcome.stdout.read_text() == "bye\n"


def test_cpu_limit_counts_the_tree(task: Task) -> None:
    limits = Limits(wall_s=40, memory_mb=1000, cpu_s=0.4)
    outcome = task.sh("(while :; do :; done) & (while :; do :; done) & wait", limits)
    assert outcome.reason == "cpu"
    assert outcome.cpu_s > 0.4


@with_and_without_cgroups
def test_memory_hog(task: Task, use_cgroups: bool) -> None:
    limits = Limits(wall_s=40, memory_mb=150)
    script = "blocks = []\nwhile True: blocks.append(bytearray(b'x') * 1_000_000)"
    outcome = task.python(script, limits, use_cgroups=use_cgroups)
    assert outcome.reason == "memory"
    assert outcome.memory_mb > 100


def test_memory_hogs_that_are_small_one_by_one(task: Task) -> None:
    outcome = task.python(
        """
        import os, time
        for _ in range(5):
            if os.fork() == 0:
                os.setsid()
                block = bytearray(b"x") * 60_000_000
                time.sleep(600)
        time.sleep(600)
        """,
        Limits(wall_s=40, memory_mb=200),
    )
    assert outcome.reason == "memory"


@pytest.mark.parametrize("stream", [1, 2])
def test_endless_output(task: Task, stream: int) -> None:
    limits = Limits(wall_s=40, memory_mb=1000, output_mb=1.0)
    outcome = task.sh(f"yes >&{stream}", limits)
    assert outcome.reason == "output"
    kept = [path.stat().st_size for path in (outcome.stdout, outcome.stderr) if path]
    assert sum(kept) == 1 << 20


def test_a_file_without_end(task: Task) -> None:
    limits = Limits(wall_s=40, memory_mb=8, output_mb=8)
    outcome = task.sh("exec cat /dev/zero >large", limits)
    assert outcome.reason == "output"
    assert (task.folder / "large").stat().st_size <= 8 << 20


@with_and_without_cgroups
def test_fork_bomb(task: Task, use_cgroups: bool) -> None:
    limits = Limits(wall_s=40, memory_mb=2000, processes=40)
    outcome = task.python(
        """
        import os, time
        for _ in range(9):
            try: os.fork()
            except OSError: pass
        time.sleep(600)
        """,
        limits,
        use_cgroups=use_cgroups,
    )
    assert outcome.reason == "processes"


# Attempts to outlive the task.

ESCAPES = {
    "setsid child": f"setsid {LONG} & wait",
    "background child of a finished parent": f"{LONG} & exit 0",
    "daemon that holds the pipes": f"(setsid sh -c '{LONG}' &) ; echo done",
    "closes its streams": f"exec >&- 2>&- <&-; {LONG}",
    "stops itself": "kill -STOP $$",
}
PYTHON_ESCAPES = {
    "double fork": """
        import os, time
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                time.sleep(600)
            os._exit(0)
        os.wait()
        """,
    "own process group, no SIGTERM": """
        import os, signal, time
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if os.fork() == 0:
            os.setpgid(0, 0)
        time.sleep(600)
        """,
    "forks at SIGTERM": """
        import os, signal, time
        def again(*_):
            for _ in range(3):
                if os.fork() == 0:
                    os.setsid()
        signal.signal(signal.SIGTERM, again)
        while True: time.sleep(1)
        """,
    "zombies": """
        import os, time
        for _ in range(30):
            if os.fork() == 0: os._exit(0)
        time.sleep(600)
        """,
}


@with_and_without_cgroups
@pytest.mark.parametrize("name", ESCAPES)
def test_no_shell_outlives_its_task(task: Task, name: str, use_cgroups: bool) -> None:
    outcome = task.sh(ESCAPES[name], BRIEF, use_cgroups=use_cgroups)
    assert outcome.reason in ("wall", "exited")


@with_and_without_cgroups
@pytest.mark.parametrize("name", PYTHON_ESCAPES)
def test_no_program_outlives_its_task(task: Task, name: str, use_cgroups: bool) -> None:
    outcome = task.python(PYTHON_ESCAPES[name], BRIEF, use_cgroups=use_cgroups)
    assert outcome.reason in ("wall", "exited")


@with_and_without_cgroups
def test_a_new_session_and_process_at_every_step(task: Task, use_cgroups: bool) -> None:
    script = """
        import os, time
        beat = os.open("beat", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
        if os.fork(): time.sleep(600)
        while True:
            os.write(beat, b".")
            os.setsid()
            if os.fork(): os._exit(0)
        """
    assert task.python(script, BRIEF, use_cgroups=use_cgroups).reason == "wall"
    # None of these processes lives long enough to be found by looking for it.
    beats = (task.folder / "beat").stat().st_size
    time.sleep(0.3)
    assert (task.folder / "beat").stat().st_size == beats > 1


def test_killing_the_supervisor_does_not_help(task: Task) -> None:
    outcome = task.sh(f"setsid {LONG} & kill -9 $PPID; {LONG}")
    assert (outcome.reason, outcome.signal) == ("signalled", signal.SIGKILL)
    assert outcome.result_problem is not None


def test_freezing_the_supervisor_does_not_help(task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "RESCUE_S", 0.5)
    outcome = task.sh(f"setsid {LONG} & kill -STOP $PPID; {LONG}", BRIEF)
    assert outcome.reason == "wall"


# Commands that cannot run.


@pytest.mark.parametrize("command", ["/no/such/tool", "/etc/passwd", "/"])
def test_a_command_that_cannot_start_is_one_sentence(task: Task, command: str) -> None:
    with pytest.raises(BadInput, match=f"cannot start '{command}'"):
        task.run((command,), ROOMY)


def test_cores_that_do_not_exist_are_one_sentence(task: Task) -> None:
    with pytest.raises(BadInput, match="cores"):
        task.sh("exit 0", cores=[100_000])


def test_an_empty_command_is_one_sentence(task: Task) -> None:
    with pytest.raises(BadInput, match="empty"):
        task.run((), ROOMY)
