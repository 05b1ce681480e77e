"""Run verifiers over a benchmark folder: every task exactly once, however often it is stopped."""

from __future__ import annotations

import random
import shutil
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import assay
from assay.errors import BadInput
from assay.judge.execute import Executed, Task, execute
from assay.judge.results import Result
from assay.judge.run_folder import benchmark_sha256, open_run
from assay.judge.sandbox import Stopped
from assay.judge.task import Limits, Question
from assay.judge.verifier import Verifier
from assay.suite.folder import BenchmarkFolder
from assay.suite.workers import Watcher, available_cores


@dataclass(frozen=True)
class Settings:
    """How a run is done; `timeout_s` None takes the seconds of instances.csv."""

    timeout_s: float | None = None
    memory_mb: float = 4096.0
    repeat: int = 1
    seed: int = 0
    jobs: int = 1


def run(
    benchmark: BenchmarkFolder,
    verifiers: Sequence[Verifier],
    settings: Settings,
    target: Path,
    watcher: Watcher | None = None,
) -> list[Result]:
    """Run what is not yet done, and return all results of the run."""
    watcher = watcher or Watcher()
    versions = {verifier.name: _version(verifier) for verifier in verifiers}
    with open_run(target, _plan(benchmark, settings)) as folder:
        tasks = [t for t in _tasks(benchmark, versions, settings) if t.key not in folder.done]
        total = len(benchmark.entries) * len(verifiers) * settings.repeat
        watcher.begin(total, total - len(tasks))
        by_name = {verifier.name: verifier for verifier in verifiers}
        for executed in _executed(tasks, by_name, versions, settings, watcher):
            result = folder.add(executed)
            label = f"{result.verifier} {result.instance}"
            watcher.finished(label, result.wall_s, _note(result))
        return folder.finished


def _version(verifier: Verifier) -> str:
    found = verifier.version()
    if found is None:
        raise BadInput(
            f"verifier {verifier.name!r} is not installed; get it with: {verifier.install_hint}"
        )
    return found


def _plan(benchmark: BenchmarkFolder, settings: Settings) -> dict[str, Any]:
    """What must stay the same for a run to go on; more verifiers and other jobs may join."""
    kept = asdict(settings)
    del kept["jobs"]
    return {
        "schema": 1,
        "benchmark": str(benchmark.path.absolute()),
        "benchmark_sha256": benchmark_sha256(benchmark),
        "assay": assay.__version__,
        **kept,
    }


def _tasks(
    benchmark: BenchmarkFolder, verifiers: Mapping[str, str], settings: Settings
) -> list[Task]:
    """All tasks in a random order that the seed decides, so that load hits no tool alone."""
    tasks = [
        Task(Question(e.name, e.onnx, e.vnnlib, settings.timeout_s or e.timeout), verifier, repeat)
        for e in benchmark.entries
        for verifier in verifiers
        for repeat in range(settings.repeat)
    ]
    random.Random(settings.seed).shuffle(tasks)
    return tasks


def _executed(
    tasks: Sequence[Task],
    verifiers: Mapping[str, Verifier],
    versions: Mapping[str, str],
    settings: Settings,
    watcher: Watcher,
) -> Iterator[Executed]:
    """Outcomes as they come; closing the iterator stops every tool that runs."""
    jobs = max(1, min(settings.jobs, len(tasks)))
    cores: SimpleQueue[int] = SimpleQueue()
    for core in range(jobs):
        cores.put(core % available_cores())
    stop = threading.Event()
    base = Path(tempfile.mkdtemp(prefix="assay-run-"))

    def one(number: int, task: Task) -> Executed:
        if stop.is_set():
            raise Stopped("the run was stopped")
        core, folder = cores.get(), base / str(number)
        watcher.started(f"{task.verifier} {task.question.name}")
        try:
            return execute(
                task,
                verifiers[task.verifier],
                versions[task.verifier],
                folder,
                Limits(task.question.timeout_s, settings.memory_mb),
                cores=[core],
                stop=stop,
            )
        finally:
            cores.put(core)
            shutil.rmtree(folder, ignore_errors=True)

    pool = ThreadPoolExecutor(jobs)
    try:
        pending: set[Future[Executed]] = {pool.submit(one, i, t) for i, t in enumerate(tasks)}
        while pending:
            done, pending = wait(pending, return_when=FIRST_COMPLETED)
            for future in done:
                yield future.result()
    finally:
        stop.set()
        pool.shutdown(wait=True, cancel_futures=True)
        shutil.rmtree(base, ignore_errors=True)


def _note(result: Result) -> str:
    return "" if result.ending == "answered" else result.ending
