"""The Dask engine on real clusters: workers killed, drivers stopped, versions compared."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import uuid
from dataclasses import replace
from pathlib import Path

import cloudpickle
import pytest
from dask_cluster import cluster
from process_search import pids_with, wait_until
from scripted_tools import LIAR_UNSAT, says, tool
from small_instances import instance, write_folder

from assay.engine.cluster import cluster_at
from assay.errors import BadInput
from assay.judge.catalogue import verifiers
from assay.judge.process_tree import read_process
from assay.judge.results import Result
from assay.judge.run_folder import RESULTS_FILE, RUN_FILE
from assay.judge.run_progress import RunWatcher
from assay.judge.runner import Settings, run
from assay.judge.task import Question
from assay.judge.worker_check import check_workers
from assay.suite.folder import BenchmarkFolder


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> BenchmarkFolder:
    made = [
        instance("meap", answer, seed) for seed in range(2) for answer in ("robust", "violated")
    ]
    return BenchmarkFolder.open(write_folder(tmp_path_factory.mktemp("dask") / "bench", made))


def keys(target: Path) -> list[tuple[str, str, int]]:
    lines = [json.loads(line) for line in (target / RESULTS_FILE).read_text().splitlines()]
    return [(line["instance"], line["verifier"], line["repeat"]) for line in lines]


def runs_below(pid: int, ancestor: int) -> bool:
    """Whether `ancestor` started the process, however many of the sandbox's own lie between."""
    while pid > 1:
        if pid == ancestor:
            return True
        process = read_process(pid)
        pid = process.parent if process else 0
    return False


@pytest.mark.slow
def test_a_killed_worker_loses_nothing(bench: BenchmarkFolder, tmp_path: Path) -> None:
    mark = uuid.uuid4().hex
    slow = tool("slow", f"'{mark}'; import time; time.sleep(.5); " + says("unsat\n"))
    target, settings = tmp_path / "run", Settings(timeout_s=60, repeat=6)
    with cluster(tmp_path, 3, "--no-nanny") as made:
        victim, killed = made.workers[0].pid, threading.Event()

        def kill_in_mid_task() -> None:
            wait_until(lambda: any(runs_below(pid, victim) for pid in pids_with(mark)))
            os.kill(victim, signal.SIGKILL)
            killed.set()

        killer = threading.Thread(target=kill_in_mid_task)
        killer.start()
        with cluster_at(made.address) as engine:
            results = run(bench, [slow], settings, target, engine=engine)
        killer.join()
        assert killed.is_set(), "while its tool ran"
    assert made.workers[0].returncode == -signal.SIGKILL
    assert len(keys(target)) == len(set(keys(target))) == len(results) == 4 * 6
    assert {(r.ending, r.verdict) for r in results} == {("answered", "robust")}
    wait_until(lambda: not pids_with(mark))
    session = json.loads((target / RUN_FILE).read_text())["sessions"][0]
    assert session["engine"]["kind"] == "dask"


@pytest.mark.slow
def test_a_task_that_kills_its_workers_is_crashed(bench: BenchmarkFolder, tmp_path: Path) -> None:
    assassin = tool(
        "assassin",
        "import os, sys\n"
        "if not sys.argv[2].startswith('meap-0-robust'):\n"
        "    open(sys.argv[1], 'w').write('unsat'); sys.exit()\n"
        "pid = os.getppid()\n"
        "while b'assay.judge' in open(f'/proc/{pid}/cmdline', 'rb').read():\n"
        "    pid = int(open(f'/proc/{pid}/stat').read().rpartition(')')[2].split()[1])\n"
        "os.kill(pid, 9)",
    )
    with cluster(tmp_path, 3, "--nanny") as made, cluster_at(made.address) as engine:
        results = run(bench, [assassin], Settings(timeout_s=60), tmp_path / "run", engine=engine)
    endings = {r.instance: (r.ending, r.detail) for r in results}
    assert len(results) == 4
    assert endings.pop("meap-0-robust") == ("crashed", "3 workers were lost while they ran it")
    assert set(endings.values()) == {("answered", "")}


DRIVER = """
import sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from scripted_tools import tool
from assay.engine.cluster import cluster_at
from assay.judge.results import Result
from assay.judge.run_progress import RunWatcher
from assay.judge.runner import Settings, run
from assay.suite.folder import BenchmarkFolder
if __name__ == "__main__":
    endless = tool("endless", "'{mark}'; import time; time.sleep(600)")
    with cluster_at({address!r}) as engine:
        run(BenchmarkFolder.open(Path({bench!r})), [endless], Settings(timeout_s=500),
            Path({target!r}), engine=engine)
"""


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_no_tool_outlives_its_driver(
    bench: BenchmarkFolder, tmp_path: Path, number: signal.Signals
) -> None:
    mark = uuid.uuid4().hex
    with cluster(tmp_path, 2, "--no-nanny") as made:
        script = DRIVER.format(
            tests=str(Path(__file__).parent),
            mark=f"of-{mark}",
            address=made.address,
            bench=str(bench.path),
            target=str(tmp_path / "run"),
        )
        (tmp_path / "driver.py").write_text(script)
        driver = subprocess.Popen([sys.executable, str(tmp_path / "driver.py")])
        wait_until(lambda: len(pids_with(f"of-{mark}")) == 2)
        driver.send_signal(number)
        driver.wait(timeout=60)
        if number == signal.SIGINT:
            assert not pids_with(f"of-{mark}"), "the driver waits for the tools to end"
        wait_until(lambda: not pids_with(f"of-{mark}"))
        assert all(worker.poll() is None for worker in made.workers)


@pytest.mark.slow
def test_workers_must_be_like_the_driver(bench: BenchmarkFolder, tmp_path: Path) -> None:
    here, lock = os.getpid(), threading.Lock()
    only_here = replace(LIAR_UNSAT, version=lambda: "1" if os.getpid() == here else None)
    locked = replace(LIAR_UNSAT, version=lambda: str(lock))
    target = tmp_path / "run"
    with cluster(tmp_path, 0) as made, cluster_at(made.address) as engine:
        with pytest.raises(BadInput, match="cannot be sent to the workers"):
            check_workers(engine, [locked], {"liar-unsat": "1"})
        # With no worker yet there is nobody to ask: the first task finds it out.
        worker = threading.Timer(0.5, made.add_worker, ["--no-nanny"])
        worker.start()
        with pytest.raises(BadInput, match=r"worker tcp://.* has liar-unsat \(not installed\)"):
            run(bench, [only_here], Settings(timeout_s=60), target, engine=engine)
        worker.join()
        with pytest.raises(BadInput, match="get it there with: nothing"):
            check_workers(engine, [only_here], {"liar-unsat": "1"})
    assert keys(target) == []


@pytest.mark.slow
def test_results_speak_of_the_drivers_files(bench: BenchmarkFolder, tmp_path: Path) -> None:
    notes: list[str] = []
    running: list[int] = []
    watcher = RunWatcher()
    watcher.note = notes.append  # type: ignore[method-assign]
    watcher.running = lambda tasks: running.append(len(tasks))  # type: ignore[method-assign]
    milp, settings = verifiers()["milp"], Settings(timeout_s=60)
    with cluster(tmp_path, 0) as made, cluster_at(made.address) as engine:
        worker = threading.Timer(0.5, made.add_worker, ["--no-nanny"])
        worker.start()
        there = run(bench, [milp], settings, tmp_path / "there", watcher, engine)
        worker.join()
    here = run(bench, [milp], settings, tmp_path / "here")
    assert notes == ["the cluster has no worker; the work goes on when one joins it"]
    assert max(running) >= 1

    def told(results: list[Result]) -> list[object]:
        return sorted(
            (r.instance, r.verdict, r.ending, r.onnx_sha256, r.vnnlib_sha256, r.command[:6])
            for r in results
        )

    assert told(there) == told(here)


@pytest.mark.slow
def test_a_lost_scheduler_is_one_sentence(bench: BenchmarkFolder, tmp_path: Path) -> None:
    mark = uuid.uuid4().hex
    endless = tool("endless", f"'of-{mark}'; import time; time.sleep(600)")
    with cluster(tmp_path, 1, "--no-nanny") as made:

        def kill_the_scheduler() -> None:
            wait_until(lambda: pids_with(f"of-{mark}"))
            os.kill(made.scheduler.pid, signal.SIGKILL)

        killer = threading.Thread(target=kill_the_scheduler)
        killer.start()
        with pytest.raises(BadInput, match="was lost"), cluster_at(made.address) as engine:
            run(bench, [endless], Settings(timeout_s=500), tmp_path / "run", engine=engine)
        killer.join()
        wait_until(lambda: not pids_with(f"of-{mark}"))


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "nonsense", "udp://127.0.0.1:1"])
def test_a_scheduler_that_is_not_there(address: str) -> None:
    with pytest.raises(BadInput, match="no Dask scheduler at"), cluster_at(address):
        pass


def test_every_verifier_travels(tmp_path: Path) -> None:
    question = Question("q", tmp_path / "a.onnx", tmp_path / "a.vnnlib", 10.0)
    for name, verifier in verifiers().items():
        arrived = cloudpickle.loads(cloudpickle.dumps(verifier))
        assert arrived.name == name
        assert arrived.operators == verifier.operators
        if verifier.version() is not None:
            assert arrived.version() == verifier.version()
            assert arrived.invoke(question, tmp_path) == verifier.invoke(question, tmp_path)
