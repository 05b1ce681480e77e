"""What happens on a Dask worker: a parcel comes in, its item is worked on, the outcome goes back.

An item is told to stop by cancelling it at the scheduler, which also happens when the driver dies;
what it runs then ends at once. Work that runs no programs of its own is done in a worker process
as on one machine, so that its results are the same to the byte, and its death costs one item.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic

from distributed import Status, Worker, get_worker

import assay
from assay.engine.relocation import relocated
from assay.engine.threads import done_here
from assay.engine.work import Item, Outcome, Result, Work, no_files
from assay.engine.worker_process import WorkerProcess, end_workers
from assay.errors import BadInput

POLL_S = 0.1
_ENDING = (Status.closing, Status.closed, Status.closing_gracefully, Status.failed)
_running: Counter[str] = Counter()
_counting = threading.Lock()
_idle: dict[Any, list[WorkerProcess[Any, Any]]] = {}


class Stopped(Exception):
    """The item was given up because its worker closes, or because nobody wants it any more."""


@dataclass(frozen=True)
class Parcel(Generic[Item, Result]):
    """An item with the bytes of its files: workers need not see the driver's disk."""

    run: str
    number: int
    work: Work[Item, Result]
    item: Item
    assay: str
    files: dict[str, bytes]


def pack(run: str, number: int, work: Work[Item, Result], item: Item) -> Parcel[Item, Result]:
    files = {str(path): Path(path).read_bytes() for path in work.files(item)}
    bare = replace(work, files=no_files)  # the driver alone knows which there are
    return Parcel(run, number, bare, item, assay.__version__, files)


def refuse_other_assay(place: str, ours: str) -> None:
    if assay.__version__ != ours:
        raise BadInput(
            f"worker {place} has assay {assay.__version__} where the driver has {ours}; "
            "install the same version there"
        )


def do_parcel(parcel: Parcel[Item, Result]) -> Outcome[Item, Result]:
    """Do one parcel; the driver hears that it has begun, and gets the outcome."""
    worker = get_worker()
    worker.log_event(parcel.run, parcel.number)
    refuse_other_assay(worker.address, parcel.assay)
    base = Path(tempfile.mkdtemp(prefix="assay-item-", dir=worker.local_directory))
    try:
        places = _unpacked(parcel, base)
        item = relocated(parcel.item, places)
        with _counted(parcel.run), _stopped_when_cancelled(worker) as stop:
            if parcel.work.runs_programs:
                outcome = done_here(parcel.work, item, base / "item", stop)
            else:
                outcome = _done_in_process(parcel.work, item, stop)
        if stop.is_set():
            raise Stopped
        back = {here: there for there, here in places.items()}
        error = outcome.error
        if error is not None:
            error = type(error)(*relocated(error.args, back, in_texts=True))
        result = relocated(outcome.result, back, in_texts=True)
        return Outcome(parcel.item, outcome.seconds, result, error, outcome.death)
    finally:
        shutil.rmtree(base, ignore_errors=True)


def items_running(run: str) -> int:
    """How many items of a run this worker has in hand."""
    return _running[run]


def _unpacked(parcel: Parcel[Item, Result], base: Path) -> dict[str, str]:
    """Files of the same names in folders of the same names, for some tools go by them."""
    places = {}
    for name, content in parcel.files.items():
        parts = Path(name).absolute().parts[-3:]
        file = base.joinpath("files", *parts)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        places[name] = str(file)
    return places


def _done_in_process(
    work: Work[Item, Result], item: Item, stop: threading.Event
) -> Outcome[Item, Result]:
    key = work.function, work.reads
    with _counting:
        idle = _idle.setdefault(key, [])
        process = idle.pop() if idle else None
    process = process or WorkerProcess(work)
    process.take(item)
    while not process.connection.poll(POLL_S):
        if stop.is_set():
            end_workers([process])
            return Outcome(item, time.monotonic() - process.since, death="it was stopped")
    outcome = process.receive()
    if outcome.death is None:
        with _counting:
            idle.append(process)
    return outcome


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
    """An event that is set when the scheduler no longer wants the item, or the worker closes."""
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
