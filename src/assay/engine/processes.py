"""This machine as the engine: so many worker processes at once."""

from __future__ import annotations

import signal
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from multiprocessing.connection import wait
from typing import Any

from assay.engine.work import (
    Engine,
    Item,
    Outcome,
    Result,
    Started,
    Watcher,
    Work,
    available_cores,
)
from assay.engine.worker_process import WorkerProcess, end_workers


class Processes:
    """`jobs` worker processes; 0 means one per core."""

    def __init__(self, jobs: int = 0) -> None:
        self._jobs = jobs or available_cores()

    def describe(self) -> Mapping[str, Any]:
        return {"kind": "local", "jobs": self._jobs}

    def outcomes(
        self,
        work: Work[Item, Result],
        items: Sequence[Item],
        started: Started[Item] = lambda _: None,
        note: Callable[[str], None] = lambda _: None,  # noqa: ARG002 - there is nothing to say
    ) -> Generator[Outcome[Item, Result], None, None]:
        """More workers than items, or than four a core, would only wait: never that many."""
        waiting = deque(items)
        jobs = min(self._jobs, len(items), 4 * available_cores())
        workers: list[WorkerProcess[Item, Result]] = []
        with _broken_pipes_ignored():
            try:
                while waiting or any(worker.item is not None for worker in workers):
                    while waiting and len(workers) < jobs:
                        workers.append(WorkerProcess(work))
                    for worker in workers:
                        if worker.item is None and waiting:
                            item = waiting.popleft()
                            started(item)
                            worker.take(item)
                    ready = wait([w.connection for w in workers if w.item is not None])
                    for worker in [w for w in workers if w.connection in ready]:
                        outcome = worker.receive()
                        if outcome.death is not None:
                            workers.remove(worker)
                        yield outcome
            finally:
                end_workers(workers)


@contextmanager
def _broken_pipes_ignored() -> Iterator[None]:
    """The death of a worker must not end us."""
    if threading.current_thread() is not threading.main_thread():
        yield  # who may set signals has done so
        return
    before = signal.getsignal(signal.SIGPIPE)
    if before is not signal.SIG_IGN:
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    try:
        yield
    finally:
        if before is not signal.SIG_IGN:
            signal.signal(signal.SIGPIPE, before)


Jobs = int | Engine
"""So many processes of this machine at once, 0 for one per core; or an engine."""


def outcomes_of(
    work: Work[Item, Result],
    items: Sequence[Item],
    jobs: Jobs,
    watcher: Watcher,
    name: Callable[[Item], str],
) -> Generator[Outcome[Item, Result], None, None]:
    """The outcome of every item as it comes; the watcher hears what is begun, by its name."""
    engine = Processes(jobs) if isinstance(jobs, int) else jobs
    return engine.outcomes(work, items, lambda item: watcher.started(name(item)), watcher.note)
