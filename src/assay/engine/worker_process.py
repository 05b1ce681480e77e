"""One worker process: made by a zygote, handed items, ended at any moment.

Workers are single-threaded and have a fixed hash seed, however many there are: what they compute
cannot depend on the number of jobs. They do not see Ctrl-C (their caller stops them), and they end
by themselves when their caller is killed. None of them reads the caller's own script again, so that
scripts need no guard.
"""

from __future__ import annotations

import atexit
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Generic

from assay.engine.work import Item, Outcome, Result, Work, WorkerFault
from assay.engine.zygote import FORK, KILL, MADE, MESSAGE, OVER, command

ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "PYTHONHASHSEED": "0",
}
_STOP_SECONDS = 5.0


class _Zygote:
    """The process that makes workers, as its caller sees it; several threads may share it."""

    def __init__(self, modules: tuple[str, ...], path: str) -> None:
        self._control, theirs = socket.socketpair()
        life, self._life = os.pipe()
        with _interrupt_blocked():
            self._process = subprocess.Popen(
                command(theirs.fileno(), life, modules),
                pass_fds=(theirs.fileno(), life),
                stdin=subprocess.DEVNULL,
                env={**os.environ, **ENVIRONMENT, "PYTHONPATH": path},
            )
        theirs.close()
        os.close(life)
        self._lock = threading.Lock()
        self._ended: dict[int, int] = {}

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def fork(self, handle: int) -> int:
        """A new worker that holds this descriptor; its process number."""
        with self._lock:
            message = MESSAGE.pack(FORK, 0, 0)
            socket.send_fds(self._control, [message], [handle])
            while True:
                what, worker, status = self._message()
                if what == MADE:
                    self._ended.pop(worker, None)
                    return worker
                self._ended[worker] = status

    def kill(self, worker: int, number: int) -> None:
        with self._lock, suppress(OSError):
            self._control.sendall(MESSAGE.pack(KILL, worker, number))

    def exit_code(self, worker: int, deadline: float) -> int | None:
        """How it ended; None if that is not known in time."""
        while True:
            with self._lock:
                if worker in self._ended:
                    return self._ended.pop(worker)
                left = deadline - time.monotonic()
                if left <= 0:
                    return None
                self._control.settimeout(min(left, 0.2))
                try:
                    what, ended, status = self._message()
                except TimeoutError:
                    continue
                except OSError:
                    return None
                finally:
                    self._control.settimeout(None)
                if what == OVER:
                    self._ended[ended] = status

    def close(self) -> None:
        self._control.close()
        os.close(self._life)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_STOP_SECONDS)

    def _message(self) -> tuple[bytes, int, int]:
        data = self._control.recv(MESSAGE.size)
        if not data:
            raise ConnectionResetError("the parent of the workers is gone")
        return MESSAGE.unpack(data)


_zygotes: dict[tuple[int, tuple[str, ...], str], _Zygote] = {}
_starting = threading.Lock()


def _zygote(modules: tuple[str, ...]) -> _Zygote:
    # The same modules must be found there, however they are found here.
    named = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    path = os.pathsep.join(folder or str(Path.cwd()) for folder in dict.fromkeys(named + sys.path))
    key = os.getpid(), modules, path  # one that a fork inherited belongs to somebody else
    with _starting:
        if key not in _zygotes or not _zygotes[key].is_alive:
            _zygotes[key] = _Zygote(modules, path)
        return _zygotes[key]


@atexit.register
def _close_all() -> None:
    for (owner, *_), zygote in _zygotes.items():
        if owner == os.getpid():
            zygote.close()


class WorkerProcess(Generic[Item, Result]):
    """A worker for one function; `item` is what it is at, since `since`."""

    def __init__(self, work: Work[Item, Result]) -> None:
        ours, theirs = socket.socketpair()
        self._zygote = _zygote(work.reads)
        try:
            self._number = self._zygote.fork(theirs.fileno())
        finally:
            theirs.close()
        self.connection: Connection[Any, Any] = Connection(ours.detach())
        self.item: Item | None = None
        self.since = 0.0
        place = list(sys.path), {**os.environ, **ENVIRONMENT}, str(Path.cwd())
        self._send((*place, pickle.dumps(work.function)))

    def take(self, item: Item) -> None:
        self.item, self.since = item, time.monotonic()
        # If the worker has died, its closed connection says so when the answer is awaited.
        with suppress(BrokenPipeError, ConnectionResetError):
            self.connection.send_bytes(pickle.dumps(item))

    def receive(self) -> Outcome[Item, Result]:
        """The outcome of its item; with a `death`, the worker is no more."""
        item, seconds = self.item, time.monotonic() - self.since
        assert item is not None
        self.item = None
        try:
            kind, value, seconds = self.connection.recv()
        except (EOFError, OSError):
            self.connection.close()
            code = self._zygote.exit_code(self._number, time.monotonic() + _STOP_SECONDS)
            return Outcome(item, seconds, death=_cause(code))
        if kind == "fault":
            raise WorkerFault(value)
        if kind == "error":
            return Outcome(item, seconds, error=value)
        return Outcome(item, seconds, result=value)

    def begin_to_end(self) -> None:
        """An idle worker ends by itself when its connection is closed; a busy one is told to."""
        if self.item is not None:
            self._zygote.kill(self._number, signal.SIGTERM)
        self.connection.close()

    def end(self, deadline: float) -> None:
        if self._zygote.exit_code(self._number, deadline) is None:
            self._zygote.kill(self._number, signal.SIGKILL)
            self._zygote.exit_code(self._number, time.monotonic() + _STOP_SECONDS)

    def _send(self, message: object) -> None:
        with suppress(BrokenPipeError, ConnectionResetError):
            self.connection.send(message)


def end_workers(workers: list[WorkerProcess[Item, Result]]) -> None:
    for worker in workers:
        worker.begin_to_end()
    deadline = time.monotonic() + _STOP_SECONDS
    for worker in workers:
        worker.end(deadline)


def _cause(exitcode: int | None) -> str:
    if exitcode is None:
        return "its process ended"
    if exitcode < 0:
        name = signal.Signals(-exitcode).name
        hint = " (is there enough memory?)" if name == "SIGKILL" else ""
        return f"its process was ended by {name}{hint}"
    return f"its process ended with exit code {exitcode}"


@contextmanager
def _interrupt_blocked() -> Iterator[None]:
    """Block Ctrl-C for this thread; a process started meanwhile inherits that and keeps it."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
