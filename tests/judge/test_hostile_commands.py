"""`assay run` as a person starts it: verifiers that turn on it, and signals that stop it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from process_search import pids_with, wait_until
from sandboxed_task import SOURCE
from small_instances import instance, write_folder

from assay.engine.item_folders import PREFIX

ASSAY = (sys.executable, "-m", "assay.cli.main")
TOOL = "{onnx} {vnnlib} {result}"

KILLS_ITS_PARENT = """#!/bin/sh
kill $PPID
sleep 5
"""
LEAVES_A_DAEMON = f"""#!{sys.executable}
import os, sys, time
open(sys.argv[3], "w").write("unsat")
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.chdir("/")
        os.execve("/bin/sleep", ["sleep", "600", "0.MARK"], {{}})
    os._exit(0)
os.wait()
os.kill(os.getppid(), 9)
time.sleep(600)
"""
SLOW = "#!/bin/sh\ntrap '' TERM\nsleep 600 0.MARK\n"


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = [instance("meap", answer) for answer in ("robust", "violated")]
    return write_folder(tmp_path_factory.mktemp("hostile") / "bench", made)


class Run:
    """One run of a tool made of a script, with a temporary folder of its own."""

    def __init__(self, bench: Path, folder: Path, script: str) -> None:
        self.mark = f"{os.getpid()}{time.monotonic_ns()}"
        self.tool, self.target, self.temporary = folder / "tool", folder / "run", folder / "tmp"
        self.tool.write_text(script.replace("MARK", self.mark))
        self.tool.chmod(0o755)
        self.temporary.mkdir()
        command = ("--verifier-command", f"h={self.tool} {TOOL}", "--jobs", "2")
        self.command = [*ASSAY, "run", str(bench), *command, "-o", str(self.target)]

    def start(self) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.command,
            env={**os.environ, "PYTHONPATH": str(SOURCE), "TMPDIR": str(self.temporary)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def results(self) -> list[dict[str, object]]:
        lines = (self.target / "results.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines]

    def folders(self) -> list[Path]:
        return list(self.temporary.glob(f"{PREFIX}*"))

    def tools(self) -> list[int]:
        return pids_with(f"0.{self.mark}")


@pytest.mark.parametrize("script", [KILLS_ITS_PARENT, LEAVES_A_DAEMON], ids=["parent", "daemon"])
def test_a_tool_that_kills_its_watcher_has_crashed(
    bench: Path, tmp_path: Path, script: str
) -> None:
    run = Run(bench, tmp_path, script)
    process = run.start()
    _, said = process.communicate(timeout=120)
    assert process.returncode == 0, said
    assert "Traceback" not in said
    assert [result["ending"] for result in run.results()] == ["crashed", "crashed"]
    assert all("watched" in str(result["detail"]) for result in run.results())
    assert run.tools() == []
    assert run.folders() == []


@pytest.mark.parametrize(
    "signals",
    [[signal.SIGINT], [signal.SIGINT] * 8, [signal.SIGTERM], [signal.SIGTERM, signal.SIGINT]],
    ids=["Ctrl-C", "Ctrl-C again and again", "SIGTERM", "SIGTERM and Ctrl-C"],
)
def test_signals_stop_it_in_good_order(
    bench: Path, tmp_path: Path, signals: list[signal.Signals]
) -> None:
    run = Run(bench, tmp_path, SLOW)
    process = run.start()
    wait_until(lambda: len(run.tools()) == 2)
    for number in signals:
        process.send_signal(number)
        time.sleep(0.03)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 130
    assert said.splitlines() == ["assay: stopped; run the same command again to continue"]
    assert run.tools() == []
    assert run.folders() == []


def test_what_a_killed_one_leaves_the_next_one_removes(bench: Path, tmp_path: Path) -> None:
    run = Run(bench, tmp_path, SLOW)
    first = run.start()
    wait_until(lambda: len(run.tools()) == 2)
    (left,) = run.folders()
    first.kill()
    # The supervisors share stderr, so that this also waits for their last words.
    _, said = first.communicate(timeout=120)
    assert "Traceback" not in said
    wait_until(lambda: not run.tools())
    assert left.exists()
    second = run.start()
    wait_until(lambda: len(run.tools()) == 2)
    assert len(run.folders()) == 1
    assert left not in run.folders()
    second.terminate()
    second.communicate(timeout=120)
    assert run.folders() == []


def test_a_reader_that_leaves_during_a_run_stops_it_quietly(bench: Path, tmp_path: Path) -> None:
    run = Run(bench, tmp_path, "#!/bin/sh\nexit 1\n")
    process = run.start()
    assert process.stderr is not None
    process.stderr.close()
    with process:
        assert process.wait(timeout=120) == 128 + signal.SIGPIPE
    assert run.folders() == []


def test_a_broken_pipe_of_our_own_is_an_internal_error() -> None:
    code = (
        "import sys, assay.cli.main as m\n"
        "@m.app.command()\n"
        "def breaks(): raise BrokenPipeError(32, 'broken')\n"
        "sys.argv = ['assay', 'breaks']\n"
        "m.run()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 3
    assert done.stderr.startswith("assay: internal error (BrokenPipeError")
