"""The runner stopped by force, at any moment: nothing is lost, done twice or left running."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest
from process_search import pids_with, wait_until
from small_instances import instance, write_folder
from tier import sized

from assay.judge.run_folder import RESULTS_FILE, RUN_FILE
from assay.suite.folder import BenchmarkFolder

KILLS = sized(6, 20)
REPEAT = sized(40, 90)

RUNNER = """
import sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from scripted_tools import tool
from assay.judge.runner import Settings, run
from assay.suite.folder import BenchmarkFolder
slow = tool("slow", "'{mark}-tool'; import sys, time; time.sleep({seconds}); "
    "open(sys.argv[1], 'w').write('unsat')")
run(BenchmarkFolder.open(Path({bench!r})), [slow],
    Settings(timeout_s=60, repeat={repeat}, jobs=2), Path({target!r}))
"""


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> BenchmarkFolder:
    made = [instance("meap", answer) for answer in ("robust", "violated")]
    return BenchmarkFolder.open(write_folder(tmp_path_factory.mktemp("killed") / "bench", made))


class Runner:
    """A runner process over the benchmark with a slow tool, as often as wanted."""

    def __init__(self, bench: BenchmarkFolder, target: Path, repeat: int, seconds: float) -> None:
        mark = uuid.uuid4().hex
        self.tool_mark = f"{mark}-tool"
        script = target.with_suffix(".py")
        script.write_text(
            RUNNER.format(
                tests=str(Path(__file__).parent),
                bench=str(bench.path),
                target=str(target),
                mark=mark,
                repeat=repeat,
                seconds=seconds,
            )
        )
        self.command = [sys.executable, str(script)]

    def start(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(self.command, start_new_session=True, stderr=subprocess.DEVNULL)

    def finish(self) -> None:
        subprocess.run(self.command, check=True, timeout=300)


def keys(target: Path) -> list[tuple[str, str, int]]:
    lines = [json.loads(line) for line in (target / RESULTS_FILE).read_text().splitlines()]
    return [(line["instance"], line["verifier"], line["repeat"]) for line in lines]


@pytest.mark.slow
def test_killed_at_any_moment_every_task_is_done_once(
    bench: BenchmarkFolder, tmp_path: Path
) -> None:
    target = tmp_path / "run"
    runner = Runner(bench, target, REPEAT, 0.15)
    moments = random.Random(20)
    for kill in range(KILLS):
        process = runner.start()
        if kill % 2:  # while tools run; otherwise from the very start on
            wait_until(lambda: pids_with(runner.tool_mark))
        time.sleep(moments.uniform(0.0, 0.5 if kill % 2 else 1.5))
        process.kill()
        assert process.wait() == -signal.SIGKILL, "there must be work left for every kill"
        wait_until(lambda: not pids_with(runner.tool_mark), patience_s=10)
    runner.finish()
    assert len(keys(target)) == len(set(keys(target))) == 2 * REPEAT
    sessions = json.loads((target / RUN_FILE).read_text())["sessions"]
    assert KILLS / 2 <= len(sessions) - 1 <= KILLS


@pytest.mark.slow
def test_an_interrupted_runner_ends_its_tools_and_goes_on_later(
    bench: BenchmarkFolder, tmp_path: Path
) -> None:
    target = tmp_path / "run"
    runner = Runner(bench, target, 3, 0.5)
    process = runner.start()
    wait_until(lambda: pids_with(runner.tool_mark))
    process.send_signal(signal.SIGINT)
    process.wait(timeout=60)
    assert not pids_with(runner.tool_mark)
    runner.finish()
    assert len(keys(target)) == len(set(keys(target))) == 6
