"""Run one function over many items in child processes that never outlive their parent.

Children are spawned, single-threaded and with a fixed hash seed, however many there are: what
they compute cannot depend on the number of jobs. They do not see Ctrl-C (the parent stops them)
and they end by themselves when the parent is killed.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, Generic, TypeVar

from assay.errors import AssayError
from assay.optional_packages import missing_import

Item = TypeVar("Item")
Result = TypeVar("Result")

CHILD_ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "PYTHONHASHSEED": "0",
}
_STOP_SECONDS = 5.0


class Watcher:
    """Hears how the work goes; this one ignores it, the command line shows it."""

    def begin(self, total: int, already: int) -> None:
        """There are `total` items, of which `already` are done."""

    def started(self, name: str) -> None:
        """A worker took up the item."""

    def finished(self, name: str, seconds: float, note: str = "") -> None:
        """The item is done; `note` says what is unusual about it."""


class WorkerFault(Exception):
    """The function raised something unforeseen: a defect, shown with the child's traceback."""


@dataclass(frozen=True)
class Outcome(Generic[Item, Result]):
    """How one item ended: a result, an error for the person, or the death of its process."""

    item: Item
    seconds: float
    result: Result | None = None
    error: AssayError | None = None
    death: str | None = None


@dataclass
class _Child(Generic[Item]):
    process: BaseProcess
    connection: Connection[Any, Any]
    item: Item | None = None
    since: float = 0.0


def available_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def parallel(
    function: Callable[[Item], Result],
    items: Sequence[Item],
    jobs: int,
    started: Callable[[Item], None] = lambda _: None,
) -> Generator[Outcome[Item, Result], None, None]:
    """Yield the outcome of every item as it comes; close the iterator to stop the children.

    `function` and the items are pickled, so the function must be importable by name. More
    children than items, or than four a core, would only wait: there are never that many.
    """
    waiting = deque(items)
    jobs = min(jobs, len(items), 4 * available_cores())
    children: list[_Child[Item]] = []
    on_closed_pipe = signal.getsignal(signal.SIGPIPE)
    if on_closed_pipe is not signal.SIG_IGN:
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)  # a dead child must not end the parent
    try:
        while waiting or any(child.item is not None for child in children):
            while waiting and len(children) < jobs:
                children.append(_spawn(function))
            for child in children:
                if child.item is None and waiting:
                    _hand_out(child, waiting.popleft(), started)
            ready = wait([child.connection for child in children if child.item is not None])
            for child in [c for c in children if c.connection in ready]:
                outcome: Outcome[Item, Result] = _receive(child)
                if outcome.death is not None:
                    child.connection.close()
                    children.remove(child)
                yield outcome
    finally:
        _stop(children)
        if on_closed_pipe is not signal.SIG_IGN:
            signal.signal(signal.SIGPIPE, on_closed_pipe)


def _hand_out(child: _Child[Item], item: Item, started: Callable[[Item], None]) -> None:
    child.item, child.since = item, time.monotonic()
    started(item)
    # If the child has died, its closed connection says so when the answer is awaited.
    with suppress(BrokenPipeError, ConnectionResetError):
        child.connection.send(item)


def _receive(child: _Child[Item]) -> Outcome[Item, Result]:
    item = child.item
    assert item is not None
    seconds = time.monotonic() - child.since
    child.item = None
    try:
        kind, value, seconds = child.connection.recv()
    except (EOFError, OSError):
        child.process.join(_STOP_SECONDS)
        return Outcome(item, seconds, death=_cause(child.process.exitcode))
    if kind == "fault":
        raise WorkerFault(value)
    if kind == "error":
        return Outcome(item, seconds, error=value)
    return Outcome(item, seconds, result=value)


def _cause(exitcode: int | None) -> str:
    if exitcode is not None and exitcode < 0:
        name = signal.Signals(-exitcode).name
        hint = " (is there enough memory?)" if name == "SIGKILL" else ""
        return f"its process was ended by {name}{hint}"
    return f"its process ended with exit code {exitcode}"


def _spawn(function: Callable[[Item], Result]) -> _Child[Item]:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs, function), daemon=True)
    # The tracker must already run: starting it would unblock SIGINT before the child is made.
    resource_tracker.ensure_running()
    with _child_environment(), _interrupt_blocked():
        process.start()
    theirs.close()
    return _Child(process, ours)


@contextmanager
def _child_environment() -> Iterator[None]:
    before = {name: os.environ.get(name) for name in CHILD_ENVIRONMENT}
    os.environ.update(CHILD_ENVIRONMENT)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextmanager
def _interrupt_blocked() -> Iterator[None]:
    """Block Ctrl-C for this thread; a child started meanwhile inherits that and keeps it."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _stop(children: Sequence[_Child[Item]]) -> None:
    for child in children:
        child.connection.close()
        if child.item is not None:
            child.process.terminate()
    deadline = time.monotonic() + _STOP_SECONDS
    for child in children:
        child.process.join(max(0.0, deadline - time.monotonic()))
        if child.process.is_alive():
            child.process.kill()
            child.process.join()
        child.process.close()


def _serve(connection: Connection[Any, Any], function: Callable[[Any], Any]) -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()
    while True:
        try:
            item = connection.recv()
        except (EOFError, OSError):
            return
        begun = time.monotonic()
        try:
            reply = ("result", function(item))
        except AssayError as error:
            reply = ("error", error)
        except Exception as error:
            absent = missing_import(error) if isinstance(error, ImportError) else None
            reply = ("fault", traceback.format_exc()) if absent is None else ("error", absent)
        try:
            connection.send((*reply, time.monotonic() - begun))
        except (BrokenPipeError, ConnectionResetError):
            return


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
