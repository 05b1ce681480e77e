"""The tasks of a run as work for an engine: each in the sandbox, wherever it is done."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from assay.engine.work import Engine, Outcome, Work
from assay.errors import BadInput
from assay.judge.cores import lent_cores
from assay.judge.execute import Executed, Task, crashed, execute
from assay.judge.task import Limits
from assay.judge.verifier import Verifier
from assay.judge.worker_check import refuse_other_version
from assay.question.model_file import question_files


@dataclass(frozen=True)
class Job:
    """A task with all that it takes to carry it out."""

    task: Task
    verifier: Verifier
    version: str
    limits: Limits

    @property
    def label(self) -> str:
        return f"{self.task.verifier} {self.task.question.name}"


def carry_out(job: Job, folder: Path, stop: threading.Event) -> Executed:
    """Run the job in a folder of its own, pinned to as many cores as its tool has threads."""
    try:
        with lent_cores(job.verifier.threads) as cores:
            return execute(
                job.task, job.verifier, job.version, folder, job.limits, cores=cores, stop=stop
            )
    except OSError as error:
        raise BadInput(
            f"{error.filename or job.label}: {error.strerror or error}; the task was not run, "
            "correct that and run the same command again"
        ) from None


def carry_out_there(job: Job, folder: Path, stop: threading.Event) -> Executed:
    """The same on a worker of a cluster, if its verifier is the driver's."""
    refuse_other_version(job.verifier, job.version)
    return carry_out(job, folder, stop)


def work_on(engine: Engine) -> Work[Job, Executed]:
    if hasattr(engine, "ask_workers"):  # a cluster
        return Work(carry_out_there, files=_files, runs_programs=True)
    return Work(carry_out, runs_programs=True)


def executed(outcome: Outcome[Job, Executed]) -> Executed:
    """What became of a job; a job that took its workers down has crashed."""
    if outcome.error is not None:
        raise outcome.error
    if outcome.result is not None:
        return outcome.result
    job = outcome.item
    return crashed(job.task, job.version, outcome.death or "its process ended")


def _files(job: Job) -> Iterable[Path]:
    return question_files(job.task.question.onnx, job.task.question.vnnlib)
