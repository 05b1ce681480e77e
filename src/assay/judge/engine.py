"""Where the tasks of a run are carried out: on this machine here, on a cluster in `dask_engine`.

An engine hands back outcomes as they come, in any order, each task once. It writes nothing that
lasts: results belong to the runner. Closing its iterator ends every tool that still runs.
"""

from __future__ import annotations

import shutil
import threading
from collections.abc import Generator, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

from assay.errors import BadInput
from assay.judge.cores import lent_cores
from assay.judge.execute import Executed, Task, execute
from assay.judge.run_progress import RunWatcher
from assay.judge.task import Limits
from assay.judge.task_folders import task_folders
from assay.judge.verifier import Verifier
from assay.optional_packages import missing_package


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


class Engine(Protocol):
    def describe(self) -> Mapping[str, Any]:
        """What a run's record says of it."""
        ...

    def check(self, verifiers: Sequence[Verifier], versions: Mapping[str, str]) -> None:
        """Raise BadInput where these verifiers are not the ones that would run."""
        ...

    def executed(
        self, jobs: Sequence[Job], watcher: RunWatcher
    ) -> Generator[Executed, None, None]: ...


@contextmanager
def chosen_engine(jobs: int, dask_address: str | None) -> Iterator[Engine]:
    """This machine, or the cluster at an address."""
    if dask_address is None:
        yield LocalEngine(jobs)
        return
    try:
        from assay.judge.dask_engine import dask_engine
    except ModuleNotFoundError:
        raise missing_package("distributed", "--dask") from None
    with dask_engine(dask_address) as engine:
        yield engine


class LocalEngine:
    """This machine: so many tasks at once, each pinned to as many cores as its tool has threads."""

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs

    def describe(self) -> Mapping[str, Any]:
        return {"kind": "local", "jobs": self._jobs}

    def check(self, verifiers: Sequence[Verifier], versions: Mapping[str, str]) -> None:
        """The verifiers here are the ones that run."""

    def executed(self, jobs: Sequence[Job], watcher: RunWatcher) -> Generator[Executed, None, None]:
        with task_folders() as base:
            yield from self._executed_in(base, jobs, watcher)

    def _executed_in(
        self, base: Path, jobs: Sequence[Job], watcher: RunWatcher
    ) -> Generator[Executed, None, None]:
        stop = threading.Event()
        pool = ThreadPoolExecutor(self._jobs)
        waiting = iter(enumerate(jobs))
        running: dict[Future[Executed], Job] = {}

        def fill() -> None:
            for number, job in islice(waiting, self._jobs - len(running)):
                running[pool.submit(carry_out, job, base / str(number), stop)] = job
            watcher.running([job.label for job in running.values()])

        try:
            fill()
            while running:
                done = wait(running, return_when=FIRST_COMPLETED).done
                for future in done:
                    del running[future]
                # The next tools start before the results of these are written.
                fill()
                for future in sorted(done, key=lambda each: each.exception() is not None):
                    yield future.result()
        finally:
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)


def carry_out(job: Job, folder: Path, stop: threading.Event) -> Executed:
    """Run the job in a new folder, which is gone afterwards."""
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
    finally:
        shutil.rmtree(folder, ignore_errors=True)
