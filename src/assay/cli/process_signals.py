"""How the command meets its surroundings: signals that stop it, and readers that leave early."""

from __future__ import annotations

import io
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import typer

READER_GONE_EXIT = 128 + signal.SIGPIPE
STOPPED_EXIT = 128 + signal.SIGINT
_STOPPING = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def resumable() -> Iterator[None]:
    """Work that Ctrl-C ends with one sentence, and that the same command goes on with."""
    try:
        yield
    except KeyboardInterrupt:
        print("assay: stopped; run the same command again to continue", file=sys.stderr)
        raise typer.Exit(STOPPED_EXIT) from None


class ReaderGone(BaseException):
    """Nobody reads our output any more; no error, so nothing between here and the end takes it."""


class OutputFailed(BaseException):
    """Standard output cannot be written, say on a full disk; the message is the system's reason."""


class _Output(io.FileIO):
    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            raise ReaderGone from None
        except OSError as error:
            if self.fileno() == 2:
                return len(data)  # there is no place left to say it, and the work need not stop
            raise OutputFailed(error.strerror) from None


def heed_readers() -> None:
    """Raise ReaderGone where output goes nowhere, and OutputFailed where it cannot be written.

    SIGPIPE stays ignored, as Python has it: with its default action any pipe to a process that
    died, such as a verifier's, would end us without a word. A BrokenPipeError of our own output is
    told apart from those here.
    """
    for descriptor, name in ((1, "stdout"), (2, "stderr")):
        stream = getattr(sys, name)
        if stream is None:  # closed by whoever called us: the next file opened must not take it
            _open_nowhere(descriptor)
            setattr(sys, name, os.fdopen(descriptor, "w", closefd=False))
            continue
        if isinstance(stream, io.TextIOWrapper) and stream.fileno() in (1, 2):
            stream.flush()
            raw = _Output(stream.fileno(), "wb", closefd=False)
            setattr(
                sys,
                name,
                io.TextIOWrapper(
                    io.BufferedWriter(raw),
                    encoding=stream.encoding,
                    errors=stream.errors,
                    newline="\n",
                    line_buffering=stream.line_buffering,
                    write_through=stream.write_through,
                ),
            )


def discard_output(*descriptors: int) -> None:
    """What is still buffered goes nowhere, also when the interpreter ends."""
    for descriptor in descriptors or (1, 2):
        _open_nowhere(descriptor)


def _open_nowhere(descriptor: int) -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    if nowhere != descriptor:
        os.dup2(nowhere, descriptor)
        os.close(nowhere)


def stop_on_signals() -> None:
    """SIGTERM stops the command as Ctrl-C does; while it stops, more of them change nothing."""
    heeded = [number for number in _STOPPING if signal.getsignal(number) is not signal.SIG_IGN]

    def stop(_number: int, _frame: FrameType | None) -> None:
        for number in heeded:
            # Not SIG_IGN, which programs started from now on would inherit.
            signal.signal(number, lambda *_: None)
        raise KeyboardInterrupt

    for number in heeded:
        signal.signal(number, stop)


def stop_undisturbed() -> None:
    """Ignore them from now on: the interpreter drops its handlers some time before it is gone."""
    for number in _STOPPING:
        signal.signal(number, signal.SIG_IGN)
