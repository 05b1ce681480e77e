"""A Dask cluster as the engine: the same tasks on its workers, the results back on the driver.

Tasks are sent a few for each thread of the cluster at a time, each with the bytes of its question.
Every start of a task is told to the driver, so it knows when a task is begun again because its
worker was lost. Dask does that by itself; after `MOST_LOSSES` lost workers the task counts as
crashed, whatever the scheduler's own limit is.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import sys
import time
import uuid
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from typing import Any

import dask
from distributed import CancelledError, Client, Future, KilledWorker
from distributed.comm import parse_address, parse_host_port
from distributed.core import rpc

from assay.errors import BadInput
from assay.judge.dask_worker import inspection, pack, tasks_running, work
from assay.judge.engine import Job
from assay.judge.execute import Executed, crashed
from assay.judge.run_progress import RunWatcher
from assay.judge.sandbox import Stopped
from assay.judge.verifier import Verifier

CONNECT_S = 5.0
MOST_LOSSES = 3
TASKS_A_THREAD = 2
_LOOK_S = 2.0
_ENDING_S = 20.0
_LOGGERS = ("distributed", "distributed.client", "distributed.core", "distributed.comm")


@contextmanager
def dask_engine(address: str) -> Iterator[DaskEngine]:
    """The cluster whose scheduler has this address; it outlives the run."""
    for name in _LOGGERS:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        _try_connection(address)
        client = Client(address, timeout=CONNECT_S, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise BadInput(
            f"there is no Dask scheduler at {address!r} ({reason}); start one with "
            "`dask scheduler` and give its address, such as tcp://HOST:8786"
        ) from None
    # Networks of some megabytes are what tasks are made of here.
    with client, dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TiB"}):
        yield DaskEngine(client, address)


def _try_connection(address: str) -> None:
    """Raise OSError or ValueError unless a scheduler answers there in time.

    Dask itself would try a refused connection again and again, and wait long for the answer of
    something that is no scheduler.
    """
    host, port = parse_host_port(parse_address(address)[1])
    socket.create_connection((host, port), CONNECT_S).close()
    try:
        found = asyncio.run(asyncio.wait_for(_kind(address), CONNECT_S))
    except TimeoutError:
        raise OSError("what is there does not answer like one") from None
    if found != "Scheduler":
        raise ValueError(f"it is a {found}")


async def _kind(address: str) -> str:
    async with rpc(address) as remote:
        return str((await remote.identity())["type"])


class DaskEngine:
    """Tasks on the workers of a cluster, as many at once as they have threads."""

    def __init__(self, client: Client, address: str) -> None:
        self._client = client
        self._address = address
        self._run = f"assay-{uuid.uuid4().hex}"
        self._hosts: dict[str, Any] = {}

    def describe(self) -> Mapping[str, Any]:
        return {"kind": "dask", "address": self._address, "workers": self._hosts}

    def check(self, verifiers: Sequence[Verifier], versions: Mapping[str, str]) -> None:
        """Ask the workers there are; one that joins later is asked with its first task."""
        self._refuse_other_python()
        try:
            inspect = inspection(self._run, verifiers, versions)
        except Exception as error:
            raise BadInput(
                f"a verifier cannot be sent to the workers ({error}); declare it without open "
                "files or locks"
            ) from None
        for worker, found in self._client.run(inspect, on_error="return").items():
            if isinstance(found, BadInput):
                raise found
            if isinstance(found, Exception):
                raise BadInput(
                    f"worker {worker} cannot run the verifiers ({found}); install the same "
                    "version of assay there"
                )
            self._hosts[worker] = found

    def executed(self, jobs: Sequence[Job], watcher: RunWatcher) -> Generator[Executed, None, None]:
        dispatch = _Dispatch(self._client, self._run, jobs, watcher)
        try:
            yield from dispatch.outcomes()
        except (CancelledError, OSError):
            raise BadInput(
                f"the Dask scheduler at {self._address} was lost; the results so far are kept, run "
                "the same command again when it is back"
            ) from None
        finally:
            dispatch.stop()

    def _refuse_other_python(self) -> None:
        """Verifiers travel as code, which only the same Python reads."""
        ours = f"{sys.version_info.major}.{sys.version_info.minor}"
        for worker, about in self._client.get_versions()["workers"].items():
            theirs = ".".join(about["host"]["python"].split(".")[:2])
            if theirs != ours:
                raise BadInput(
                    f"worker {worker} has Python {theirs} where the driver has {ours}; start it "
                    "with the same one"
                )


class _Dispatch:
    """One run on its way: what waits, what is sent, and how often each task was begun."""

    def __init__(self, client: Client, run: str, jobs: Sequence[Job], watcher: RunWatcher) -> None:
        self._client = client
        self._run = run
        self._jobs = jobs
        self._watcher = watcher
        self._waiting = deque(range(len(jobs)))
        self._sent: dict[int, Future[Executed]] = {}
        self._begun: Counter[int] = Counter()
        self._running: dict[int, None] = {}
        self._events: SimpleQueue[tuple[int, Future[Executed] | None]] = SimpleQueue()
        self._threads = 0
        self._next_look = 0.0
        client.subscribe_topic(run, lambda event: self._events.put((event[1], None)))

    def outcomes(self) -> Iterator[Executed]:
        while self._waiting or self._sent:
            self._look_at_cluster()
            self._send()
            try:
                number, future = self._events.get(timeout=_LOOK_S)
            except Empty:
                continue
            executed = self._began(number) if future is None else self._ended(number, future)
            if executed is not None:
                # The next task is on its way before the result of this one is written.
                self._send()
                yield executed

    def stop(self) -> None:
        """Cancel what is on its way and wait until its tools have ended."""
        if not self._sent or self._client.status != "running":
            return
        give_up = time.monotonic() + _ENDING_S
        try:
            self._client.cancel(list(self._sent.values()))
            while time.monotonic() < give_up:
                counts = self._client.run(tasks_running, self._run, on_error="ignore")
                if not any(counts.values()):
                    return
                time.sleep(0.1)
        except (OSError, CancelledError):
            return  # the scheduler is gone, and its workers end their tasks by themselves

    def _look_at_cluster(self) -> None:
        if time.monotonic() < self._next_look:
            return
        had = self._threads
        self._threads = sum(self._client.nthreads().values())
        if self._threads == 0 and (had or self._next_look == 0.0):
            self._watcher.note("the cluster has no worker; the run goes on when one joins it")
        self._next_look = time.monotonic() + _LOOK_S

    def _send(self) -> None:
        room = TASKS_A_THREAD * max(1, self._threads) - len(self._sent)
        while self._waiting and room > 0:
            number = self._waiting.popleft()
            future = self._client.submit(
                work,
                pack(self._run, number, self._jobs[number]),
                key=f"{self._run}-{number}-{self._begun[number]}-{uuid.uuid4().hex[:8]}",
                pure=False,
            )
            self._sent[number] = future
            future.add_done_callback(self._teller(number))
            room -= 1
        self._watcher.running([self._jobs[number].label for number in self._running])

    def _teller(self, number: int) -> Callable[[Future[Executed]], None]:
        return lambda future: self._events.put((number, future))

    def _began(self, number: int) -> Executed | None:
        """A worker took the task up; if too many were lost with it, that is its outcome."""
        if number not in self._sent:
            return None
        self._begun[number] += 1
        self._running[number] = None
        return self._given_up(number) if self._begun[number] > MOST_LOSSES else None

    def _ended(self, number: int, future: Future[Executed]) -> Executed | None:
        if number not in self._sent or self._sent[number] is not future:
            return None
        try:
            executed: Executed = future.result()
        except Stopped:
            # Its worker closed in good order.
            self._begun[number] -= 1
            self._send_again(number)
            return None
        except KilledWorker:
            # Also said of tasks that only waited on workers that were lost.
            if self._begun[number] >= MOST_LOSSES:
                return self._given_up(number)
            self._send_again(number)
            return None
        self._forget(number)
        return executed

    def _given_up(self, number: int) -> Executed:
        future, job = self._sent[number], self._jobs[number]
        self._forget(number)
        self._client.cancel([future])
        return crashed(job.task, job.version, f"{MOST_LOSSES} workers were lost while they ran it")

    def _send_again(self, number: int) -> None:
        self._forget(number)
        self._waiting.appendleft(number)

    def _forget(self, number: int) -> None:
        del self._sent[number]
        self._running.pop(number, None)
