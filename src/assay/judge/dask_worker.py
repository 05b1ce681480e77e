"""What happens on a Dask worker: a parcel comes in, its tool runs in the sandbox, results go back.

A task is told to stop by cancelling it at the scheduler, which also happens when the driver dies;
its tool then ends at once. When the worker itself dies, its sandboxes end their tools.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import cloudpickle
from distributed import Status, Worker, get_worker

import assay
from assay.errors import BadInput
from assay.judge.engine import Job, carry_out
from assay.judge.execute import Executed
from assay.judge.host import this_host
from assay.judge.task import Question
from assay.judge.verifier import Verifier
from assay.question.model_file import read_model, weights_beside

POLL_S = 0.1
_ENDING = (Status.closing, Status.closed, Status.closing_gracefully, Status.failed)
_running: Counter[str] = Counter()
_counting = threading.Lock()
_versions: dict[tuple[str, str], str | None] = {}


@dataclass(frozen=True)
class Parcel:
    """A job with the bytes of its question: workers need not see the driver's disk."""

    run: str
    number: int
    job: Job
    assay: str
    onnx: bytes
    vnnlib: bytes


def pack(run: str, number: int, job: Job) -> Parcel:
    question = job.task.question
    # weights beside the network would stay behind
    beside = weights_beside(question.onnx)
    onnx = read_model(question.onnx).data if beside else question.onnx.read_bytes()
    return Parcel(run, number, job, assay.__version__, onnx, question.vnnlib.read_bytes())


def work(parcel: Parcel) -> Executed:
    """Carry out one parcel; the driver hears that it has begun, and gets the outcome."""
    worker, job = get_worker(), parcel.job
    worker.log_event(parcel.run, parcel.number)
    refuse_others(worker.address, parcel.run, parcel.assay, job.verifier, job.version)
    base = Path(tempfile.mkdtemp(prefix="assay-task-", dir=worker.local_directory))
    try:
        question = _unpacked(parcel, base)
        here = replace(job, task=replace(job.task, question=question))
        with _counted(parcel.run), _stopped_when_cancelled(worker) as stop:
            executed = carry_out(here, base / "task", stop)
        return _as_the_driver_knows_it(executed, question, job.task.question)
    finally:
        shutil.rmtree(base, ignore_errors=True)


def tasks_running(run: str) -> int:
    """How many tasks of a run this worker has in hand."""
    return _running[run]


def inspection(
    run: str, verifiers: Sequence[Verifier], versions: Mapping[str, str]
) -> Callable[[Worker], dict[str, Any]]:
    """A function for every worker, which says what its machine is or raises BadInput.

    Being made here it travels by value, so that it also runs where there is no Assay.
    """
    packed, ours = cloudpickle.dumps(tuple(verifiers)), assay.__version__

    def inspect(dask_worker: Worker) -> dict[str, Any]:
        from assay.judge.dask_worker import inspected

        return inspected(dask_worker.address, run, ours, packed, versions)

    return inspect


def inspected(
    place: str, run: str, ours: str, packed: bytes, versions: Mapping[str, str]
) -> dict[str, Any]:
    """What this worker's machine is; BadInput where its Assay or a verifier is another."""
    for verifier in cloudpickle.loads(packed):
        refuse_others(place, run, ours, verifier, versions[verifier.name])
    return dict(this_host())


def refuse_others(place: str, run: str, ours: str, verifier: Verifier, version: str) -> None:
    """Raise BadInput, naming the worker, unless it has the driver's Assay and verifier."""
    if assay.__version__ != ours:
        raise BadInput(
            f"worker {place} has assay {assay.__version__} where the driver has {ours}; "
            "install the same version there"
        )
    if (run, verifier.name) not in _versions:
        _versions[run, verifier.name] = verifier.version()
    found = _versions[run, verifier.name]
    if found != version:
        raise BadInput(
            f"worker {place} has {verifier.name} {found or '(not installed)'} where the driver has "
            f"{version}; get it there with: {verifier.install_hint}"
        )


def _unpacked(parcel: Parcel, base: Path) -> Question:
    """The question in files of the same names; some tools go by the names of the folders, too."""
    question = parcel.job.task.question
    files = []
    for path, content in ((question.onnx, parcel.onnx), (question.vnnlib, parcel.vnnlib)):
        file = base.joinpath("question", *path.absolute().parts[-3:])
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        files.append(file)
    return replace(question, onnx=files[0], vnnlib=files[1])


def _as_the_driver_knows_it(executed: Executed, here: Question, there: Question) -> Executed:
    """The command with the driver's paths: the ones here are gone in a moment."""
    names = {
        str(here.onnx): str(there.onnx.absolute()),
        str(here.vnnlib): str(there.vnnlib.absolute()),
    }
    command = list(executed.result.command)
    for mine, yours in names.items():
        command = [word.replace(mine, yours) for word in command]
    return replace(executed, result=replace(executed.result, command=tuple(command)))


@contextmanager
def _counted(run: str) -> Iterator[None]:
    with _counting:
        _running[run] += 1
    try:
        yield
    finally:
        with _counting:
            _running[run] -= 1


@contextmanager
def _stopped_when_cancelled(worker: Worker) -> Iterator[threading.Event]:
    """An event that is set when the scheduler no longer wants the task, or the worker closes."""
    key = worker.get_current_task()
    stop, over = threading.Event(), threading.Event()

    def watch() -> None:
        while not over.wait(POLL_S):
            state = worker.state.tasks.get(key)
            if state is None or state.state == "cancelled" or worker.status in _ENDING:
                stop.set()
                return

    thread = threading.Thread(target=watch, name="assay-cancel", daemon=True)
    thread.start()
    try:
        yield stop
    finally:
        over.set()
        thread.join()
