"""The parent of workers: a process that has read the modules they need, and forks one when asked.

It computes nothing and starts no thread, so that nothing is lost in a fork. What it hears and says
are messages of a fixed size; the end of its control socket is the end of all its workers.
"""

from __future__ import annotations

import importlib
import os
import pickle
import select
import signal
import socket
import struct
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any, NoReturn

from assay.errors import AssayError
from assay.optional_packages import missing_import

MESSAGE = struct.Struct("<4sqi")
"""What, which process, and a signal or an exit status."""
FORK, KILL, MADE, OVER = b"fork", b"kill", b"made", b"over"


def main() -> NoReturn:
    """`python -c … CONTROL LIFE MODULE...`: a socket, and a pipe that ends when our caller does."""
    control, life, modules = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    for name in modules:
        with suppress(ImportError):  # a worker that really needs it says so
            importlib.import_module(name)
    _serve(socket.socket(fileno=control), life)


def _serve(control: socket.socket, life: int) -> NoReturn:
    ours, wake = socket.socketpair()
    for end in (ours, wake):
        end.setblocking(False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake.fileno())
    workers: set[int] = set()
    while True:
        ready = select.select([control, ours], [], [])[0]
        if ours in ready:
            with suppress(BlockingIOError):
                ours.recv(4096)
            _tell_ended(control, workers)
        if control not in ready:
            continue
        data, handles, _, _ = socket.recv_fds(control, MESSAGE.size, 1)
        if not data:
            for worker in workers:
                os.kill(worker, signal.SIGKILL)
            os._exit(0)
        what, worker, number = MESSAGE.unpack(data)
        if what == KILL and worker in workers:
            os.kill(worker, number)
        if what == FORK:
            made = os.fork()
            if made == 0:
                for end in (control, ours, wake):
                    end.detach()
                _work(handles[0], life)
            os.close(handles[0])
            workers.add(made)
            control.sendall(MESSAGE.pack(MADE, made, 0))


def _tell_ended(control: socket.socket, workers: set[int]) -> None:
    for worker in tuple(workers):
        found, status = os.waitpid(worker, os.WNOHANG)
        if found:
            workers.remove(worker)
            ended = os.waitstatus_to_exitcode(status)
            with suppress(OSError):
                control.sendall(MESSAGE.pack(OVER, worker, ended))


def _work(handle: int, life: int) -> NoReturn:
    """The worker: first it hears where it is and what to do, then item after item."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    threading.Thread(target=_end_with_caller, args=(life,), daemon=True).start()
    connection: Connection[Any, Any] = Connection(handle)
    with suppress(EOFError, OSError):
        sys.path[:], environment, folder, packed = connection.recv()
        os.environ.clear()
        os.environ.update(environment)
        with suppress(OSError):
            os.chdir(folder)
        _answer_all(connection, packed)
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(0)


def _answer_all(connection: Connection[Any, Any], packed: bytes) -> None:
    function: Callable[[Any], Any] | None = None
    while True:
        item = connection.recv_bytes()
        begun = time.monotonic()
        try:
            function = function or pickle.loads(packed)  # noqa: S301 - our caller made it
            reply: tuple[str, Any] = ("result", function(pickle.loads(item)))  # noqa: S301
        except AssayError as error:
            reply = ("error", error)
        except Exception as error:
            absent = missing_import(error) if isinstance(error, ImportError) else None
            reply = ("fault", traceback.format_exc()) if absent is None else ("error", absent)
        connection.send((*reply, time.monotonic() - begun))


def _end_with_caller(life: int) -> NoReturn:
    os.read(life, 1)
    os._exit(1)


def command(control: int, life: int, modules: Sequence[str]) -> list[str]:
    """What starts it."""
    source = "from assay.engine.zygote import main; main()"
    return [sys.executable, "-c", source, str(control), str(life), *modules]
