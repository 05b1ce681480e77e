"""The caller of a task: its death, its user, its disk, and what each task costs it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from sandboxed_task import LONG, PYTHON, SOURCE, Task, wait_until, with_and_without_cgroups

from assay.judge.sandbox import Stopped


@pytest.fixture
def task(tmp_path: Path) -> Task:
    return Task(tmp_path)


def test_stop_ends_the_task(task: Task) -> None:
    stop = threading.Event()

    def stop_once_it_runs() -> None:
        wait_until(lambda: bool(task.running()))
        stop.set()

    watcher = threading.Thread(target=stop_once_it_runs)
    watcher.start()
    with pytest.raises(Stopped):
        task.sh(f"setsid {LONG} & {LONG}", stop=stop)
    watcher.join()
    assert task.running() == []


RUNNER = """
import sys
from pathlib import Path
from assay.judge.sandbox import run_sandboxed
from assay.judge.task import Invocation, Limits
name, value = sys.argv[1].split("=")
script = "(setsid sleep 600 &); setsid sleep 600 & trap '' TERM; sleep 600; echo late >result.txt"
command = ("/bin/sh", "-c", script)
limits = Limits(wall_s=float(sys.argv[4]), memory_mb=1000)
outcome = run_sandboxed(
    Invocation(command, environment={name: value}), Path(sys.argv[2]), limits,
    use_cgroups=sys.argv[3] == "True",
)
print(outcome.reason)
"""


def start_runner(
    task: Task, use_cgroups: bool, wall_s: float, *before: str
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*before, sys.executable, "-c", RUNNER, task.mark, str(task.folder), str(use_cgroups),
         str(wall_s)],
        env={"PYTHONPATH": str(SOURCE), "PATH": os.defpath},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )  # fmt: skip


@with_and_without_cgroups
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_the_death_of_the_runner_ends_the_tree(
    task: Task, number: signal.Signals, use_cgroups: bool
) -> None:
    with start_runner(task, use_cgroups, 600.0) as runner:
        assert wait_until(lambda: len(task.running()) >= 4)
        runner.send_signal(number)
        assert wait_until(lambda: task.running() == [])
        runner.communicate()
    assert not (task.folder / "result.txt").exists()


@pytest.mark.slow
def test_the_death_of_the_runner_at_any_moment_ends_the_tree(task: Task) -> None:
    for moment in range(12):
        with start_runner(task, moment % 2 == 0, 600.0) as runner:
            time.sleep(0.05 + moment * 0.03)
            runner.kill()
            runner.communicate()
        assert wait_until(lambda: task.running() == [])
        # A supervisor that had not started its task by then must not start it later.
        time.sleep(0.2)
        assert task.running() == []
        shutil.rmtree(task.folder, ignore_errors=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become an ordinary user")
def test_an_ordinary_user_gets_the_same(task: Task) -> None:
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        pytest.skip("there is no setpriv here")
    task.folder.mkdir()
    os.chown(task.folder, 65534, 65534)
    # The one capability left lets the user read an interpreter that lies in root's home.
    become = (setpriv, "--reuid=65534", "--regid=65534", "--clear-groups")
    reading = ("--inh-caps=-all,+dac_read_search", "--ambient-caps=-all,+dac_read_search")
    with start_runner(task, True, 1.0, *become, *reading) as runner:
        said, complained = runner.communicate(timeout=60)
    assert said.strip() == b"wall", complained.decode()
    assert task.running() == []
    assert (task.folder / "stdout.txt").stat().st_uid == 65534


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small disk")
def test_a_full_disk_is_one_sentence(task: Task) -> None:
    task.folder.mkdir()
    script = f"""
        mount -t tmpfs -o size=64k none {task.folder} || exit 77
        exec {sys.executable} -c "$RUN"
    """
    run = f"""
from pathlib import Path
from assay.errors import BadInput
from assay.judge.sandbox import run_sandboxed
from assay.judge.task import Invocation, Limits
try:
    run_sandboxed(Invocation(("seq", "100000")), Path({str(task.folder)!r}), Limits(60, 1000))
except BadInput as error:
    print(error)
"""
    done = subprocess.run(
        ["unshare", "--mount", "/bin/sh", "-c", script],
        env={"PYTHONPATH": str(SOURCE), "PATH": os.defpath, "RUN": run},
        capture_output=True,
        timeout=60,
        check=False,
    )
    if done.returncode == 77:
        pytest.skip("mounting is not allowed here")
    assert b"free some space" in done.stdout, done.stderr.decode()


# The start-up that every task pays for.


def test_the_supervisor_imports_only_light_modules() -> None:
    script = (
        f"import sys; sys.path.append({str(SOURCE)!r}); import assay.judge.supervisor; "
        "print(*sys.modules)"
    )
    done = subprocess.run([*PYTHON, script], capture_output=True, text=True, check=True)
    heavy = {"typing", "dataclasses", "pathlib", "json", "re", "enum", "collections", "contextlib"}
    assert heavy.isdisjoint(done.stdout.split())
