"""Run verifiers over a benchmark folder: every task exactly once, however often it is stopped."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import assay
from assay.engine.threads import Threads
from assay.engine.work import Engine, Watcher, available_cores
from assay.errors import BadInput
from assay.judge.called_files import NOT_COVERED
from assay.judge.execute import Task
from assay.judge.host import this_host
from assay.judge.jobs import Job, executed, work_on
from assay.judge.results import Result
from assay.judge.run_folder import benchmark_sha256, open_run
from assay.judge.run_progress import RunWatcher, hearing
from assay.judge.task import Limits, Question
from assay.judge.verifier import Verifier
from assay.judge.worker_check import check_workers
from assay.suite.folder import BenchmarkFolder
from assay.suite.proved_truths import Hashes, proved_truths, question_hashes


@dataclass(frozen=True)
class Settings:
    """How a run is done; `timeout_s` None takes the seconds of instances.csv."""

    timeout_s: float | None = None
    memory_mb: float = 4096.0
    repeat: int = 1
    seed: int = 0
    jobs: int = 1
    cpu_s: float | None = None


def run(
    benchmark: BenchmarkFolder,
    verifiers: Sequence[Verifier],
    settings: Settings,
    target: Path,
    watcher: RunWatcher | Watcher | None = None,
    engine: Engine | None = None,
    verified: Hashes | None = None,
) -> list[Result]:
    """Run what is not yet done, and return all results of the run.

    `verified` are the hashes of the questions where the truths about them are verified already.
    """
    heard = hearing(watcher)
    engine = engine or Threads(settings.jobs or available_cores())
    versions = installed_versions(verifiers)
    check_workers(engine, verifiers, versions)
    hashes = question_hashes(benchmark) if verified is None else verified
    plan = {**settled_plan(settings), "benchmark_sha256": benchmark_sha256(benchmark, hashes)}
    if verified is None:
        proved_truths(benchmark, hashes)  # a truth that does not hold is told before hours of work
    with open_run(target, benchmark.path, plan, versions, tool_records(verifiers)) as folder:
        done = folder.done
        jobs = _jobs(benchmark, verifiers, versions, settings)
        jobs = [job for job in jobs if job.task.key not in done]
        if not jobs:
            return folder.finished
        folder.begin_session(_session(engine))
        heard.begin(len(folder.finished) + len(jobs), folder.finished)
        running: dict[tuple[str, str, int], str] = {}

        def started(job: Job) -> None:
            running[job.task.key] = job.label
            heard.running(list(running.values()))

        work = work_on(engine)
        with closing(engine.outcomes(work, jobs, started, heard.note)) as outcomes:
            for outcome in outcomes:
                running.pop(outcome.item.task.key, None)
                heard.running(list(running.values()))
                heard.finished(folder.add(executed(outcome)))
        return folder.finished


def installed_versions(verifiers: Sequence[Verifier]) -> dict[str, str]:
    """The version of each; BadInput names the first that is not here, and how to get it."""
    return {verifier.name: _version(verifier) for verifier in verifiers}


def tool_records(verifiers: Sequence[Verifier]) -> dict[str, dict[str, Any]]:
    """How to name the user's own tools again, which variables were set, what versions rest on.

    Of variables only the names: values may be secret.
    """
    found = {verifier.name: _record(verifier) for verifier in verifiers}
    return {name: record for name, record in found.items() if record}


def _record(verifier: Verifier) -> dict[str, Any]:
    record: dict[str, Any] = {}
    if verifier.files is not None:
        record |= {"files": verifier.files(), "not_covered": NOT_COVERED}
    if verifier.options:
        record["options"] = list(verifier.options)
    if verifier.started_in:
        record["started_in"] = verifier.started_in
    if verifier.variables:
        record["variables"] = list(verifier.variables)
    return record


def _version(verifier: Verifier) -> str:
    found = verifier.version()
    if found is None:
        raise BadInput(
            f"verifier {verifier.name!r} is not installed; get it with: {verifier.install_hint}"
        )
    return found


def settled_plan(settings: Settings) -> dict[str, Any]:
    """What must stay the same, besides the benchmark, for a run to go on.

    More verifiers and other jobs may join.
    """
    kept = asdict(settings)
    del kept["jobs"]
    return {"schema": 2, "assay": assay.__version__, **kept}


def _session(engine: Engine) -> dict[str, Any]:
    return {
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "host": this_host(),
        "engine": engine.describe(),
    }


def _jobs(
    benchmark: BenchmarkFolder,
    verifiers: Sequence[Verifier],
    versions: Mapping[str, str],
    settings: Settings,
) -> list[Job]:
    """All jobs in a random order that the seed decides, so that load hits no tool alone."""
    jobs = []
    for entry in benchmark.entries:
        seconds = settings.timeout_s or entry.timeout
        question = Question(entry.name, entry.onnx, entry.vnnlib, seconds)
        limits = Limits(seconds, settings.memory_mb, settings.cpu_s)
        for verifier in verifiers:
            for repeat in range(settings.repeat):
                task = Task(question, verifier.name, repeat)
                jobs.append(Job(task, verifier, versions[verifier.name], limits))
    random.Random(settings.seed).shuffle(jobs)
    return jobs
