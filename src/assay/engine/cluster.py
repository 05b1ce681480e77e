"""A Dask cluster as the engine: the same work on its workers, the outcomes back on the driver.

Items are sent a few for each thread of the cluster at a time, each with the bytes of its files.
Every start of an item is told to the driver, so it knows when one is begun again because its
worker was lost. Dask does that by itself; after `MOST_LOSSES` lost workers the item is given up,
whatever the scheduler's own limit is.
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
from typing import Any, Generic

import dask
from distributed import CancelledError, Client, Future, KilledWorker
from distributed.comm import parse_address, parse_host_port
from distributed.core import rpc

from assay.engine.cluster_worker import Stopped, do_parcel, items_running, pack
from assay.engine.work import Item, Outcome, Result, Started, Work
from assay.errors import BadInput

CONNECT_S = 5.0
MOST_LOSSES = 3
ITEMS_A_THREAD = 2
_LOOK_S = 2.0
_ENDING_S = 20.0
_LOGGERS = ("distributed", "distributed.client", "distributed.core", "distributed.comm")


@contextmanager
def cluster_at(address: str) -> Iterator[Cluster]:
    """The cluster whose scheduler has this address; it outlives the work."""
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
    # Networks of some megabytes are what items are made of here.
    with client, dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TiB"}):
        yield Cluster(client, address)


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


class Cluster:
    """Items on the workers of a cluster, as many at once as they have threads."""

    def __init__(self, client: Client, address: str) -> None:
        self._client = client
        self._address = address
        self.hosts: dict[str, Any] = {}
        """What is known of the workers' machines, by the address of the worker."""

    def describe(self) -> Mapping[str, Any]:
        return {"kind": "dask", "address": self._address, "workers": self.hosts}

    def ask_workers(self, question: Callable[..., Any]) -> dict[str, Any]:
        """The answer, or the exception, of every worker there is."""
        return dict(self._client.run(question, on_error="return"))

    def refuse_other_python(self) -> None:
        """Functions travel as code, which only the same Python reads."""
        ours = f"{sys.version_info.major}.{sys.version_info.minor}"
        for worker, about in self._client.get_versions()["workers"].items():
            theirs = ".".join(about["host"]["python"].split(".")[:2])
            if theirs != ours:
                raise BadInput(
                    f"worker {worker} has Python {theirs} where the driver has {ours}; start it "
                    "with the same one"
                )

    def outcomes(
        self,
        work: Work[Item, Result],
        items: Sequence[Item],
        started: Started[Item] = lambda _: None,
        note: Callable[[str], None] = lambda _: None,
    ) -> Generator[Outcome[Item, Result], None, None]:
        self.refuse_other_python()
        dispatch = _Dispatch(self._client, work, items, started, note)
        try:
            yield from dispatch.outcomes()
        except (CancelledError, OSError):
            raise BadInput(
                f"the Dask scheduler at {self._address} was lost; the results so far are kept, run "
                "the same command again when it is back"
            ) from None
        finally:
            dispatch.stop()


class _Dispatch(Generic[Item, Result]):
    """Work on its way: what waits, what is sent, and how often each item was begun."""

    def __init__(
        self,
        client: Client,
        work: Work[Item, Result],
        items: Sequence[Item],
        started: Started[Item],
        note: Callable[[str], None],
    ) -> None:
        self._client, self._work, self._items = client, work, items
        self._started, self._note = started, note
        self._run = f"assay-{uuid.uuid4().hex}"
        self._waiting = deque(range(len(items)))
        self._sent: dict[int, Future[Outcome[Item, Result]]] = {}
        self._begun: Counter[int] = Counter()
        self._since: dict[int, float] = {}
        self._events: SimpleQueue[tuple[int, Future[Outcome[Item, Result]] | None]] = SimpleQueue()
        self._threads = 0
        self._next_look = 0.0
        client.subscribe_topic(self._run, lambda event: self._events.put((event[1], None)))

    def outcomes(self) -> Iterator[Outcome[Item, Result]]:
        while self._waiting or self._sent:
            self._look_at_cluster()
            self._send()
            try:
                number, future = self._events.get(timeout=_LOOK_S)
            except Empty:
                continue
            outcome = self._began(number) if future is None else self._ended(number, future)
            if outcome is not None:
                # The next item is on its way before the result of this one is written.
                self._send()
                yield outcome

    def stop(self) -> None:
        """Cancel what is on its way and wait until its programs have ended."""
        if not self._sent or self._client.status != "running":
            return
        give_up = time.monotonic() + _ENDING_S
        try:
            self._client.cancel(list(self._sent.values()))
            while time.monotonic() < give_up:
                counts = self._client.run(items_running, self._run, on_error="ignore")
                if not any(counts.values()):
                    return
                time.sleep(0.1)
        except (OSError, CancelledError):
            return  # the scheduler is gone, and its workers end their items by themselves

    def _look_at_cluster(self) -> None:
        if time.monotonic() < self._next_look:
            return
        had = self._threads
        self._threads = sum(self._client.nthreads().values())
        if self._threads == 0 and (had or self._next_look == 0.0):
            self._note("the cluster has no worker; the work goes on when one joins it")
        self._next_look = time.monotonic() + _LOOK_S

    def _send(self) -> None:
        room = ITEMS_A_THREAD * max(1, self._threads) - len(self._sent)
        while self._waiting and room > 0:
            number = self._waiting.popleft()
            future = self._client.submit(
                do_parcel,
                pack(self._run, number, self._work, self._items[number]),
                key=f"{self._run}-{number}-{self._begun[number]}-{uuid.uuid4().hex[:8]}",
                pure=False,
            )
            self._sent[number] = future
            future.add_done_callback(self._teller(number))
            room -= 1

    def _teller(self, number: int) -> Callable[[Future[Outcome[Item, Result]]], None]:
        return lambda future: self._events.put((number, future))

    def _began(self, number: int) -> Outcome[Item, Result] | None:
        """A worker took the item up; if too many were lost with it, that is its outcome."""
        if number not in self._sent:
            return None
        self._begun[number] += 1
        if number not in self._since:
            self._since[number] = time.monotonic()
            self._started(self._items[number])
        return self._given_up(number) if self._begun[number] > MOST_LOSSES else None

    def _ended(
        self, number: int, future: Future[Outcome[Item, Result]]
    ) -> Outcome[Item, Result] | None:
        if number not in self._sent or self._sent[number] is not future:
            return None
        try:
            outcome: Outcome[Item, Result] = future.result()
        except Stopped:
            # Its worker closed in good order.
            self._begun[number] -= 1
            self._send_again(number)
            return None
        except KilledWorker:
            # Also said of items that only waited on workers that were lost.
            if self._begun[number] >= MOST_LOSSES:
                return self._given_up(number)
            self._send_again(number)
            return None
        del self._sent[number]
        return outcome

    def _given_up(self, number: int) -> Outcome[Item, Result]:
        future = self._sent.pop(number)
        self._client.cancel([future])
        seconds = time.monotonic() - self._since.get(number, time.monotonic())
        death = f"{MOST_LOSSES} workers were lost while they ran it"
        return Outcome(self._items[number], seconds, death=death)

    def _send_again(self, number: int) -> None:
        del self._sent[number]
        self._waiting.appendleft(number)
