"""This machine as the engine for work that runs programs of its own: so many at once."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice
from pathlib import Path
from typing import Any

from assay.engine.item_folders import item_folders
from assay.engine.work import Item, Outcome, Result, Started, Work
from assay.errors import AssayError


class Threads:
    """`jobs` items at once, each in a thread that waits for its programs."""

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs

    def describe(self) -> Mapping[str, Any]:
        return {"kind": "local", "jobs": self._jobs}

    def outcomes(
        self,
        work: Work[Item, Result],
        items: Sequence[Item],
        started: Started[Item] = lambda _: None,
        note: Callable[[str], None] = lambda _: None,  # noqa: ARG002 - there is nothing to say
    ) -> Generator[Outcome[Item, Result], None, None]:
        with item_folders() as base:
            yield from self._outcomes_in(base, work, items, started)

    def _outcomes_in(
        self,
        base: Path,
        work: Work[Item, Result],
        items: Sequence[Item],
        started: Started[Item],
    ) -> Generator[Outcome[Item, Result], None, None]:
        stop = threading.Event()
        pool = ThreadPoolExecutor(self._jobs)
        waiting = iter(enumerate(items))
        running: set[Future[Outcome[Item, Result]]] = set()

        def fill() -> None:
            for number, item in islice(waiting, self._jobs - len(running)):
                started(item)
                running.add(pool.submit(done_here, work, item, base / str(number), stop))

        try:
            fill()
            while running:
                done = wait(running, return_when=FIRST_COMPLETED).done
                running.difference_update(done)
                # The next programs start before the results of these are written.
                fill()
                for future in sorted(done, key=lambda each: each.exception() is not None):
                    yield future.result()
        finally:
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)


def done_here(
    work: Work[Item, Result], item: Item, folder: Path, stop: threading.Event
) -> Outcome[Item, Result]:
    """Do one item in this thread."""
    begun = time.monotonic()
    try:
        result = work.function(item, folder, stop)
    except AssayError as error:
        return Outcome(item, time.monotonic() - begun, error=error)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return Outcome(item, time.monotonic() - begun, result=result)
