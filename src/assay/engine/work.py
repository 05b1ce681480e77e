"""What an engine is given and what it gives back.

An engine hands back the outcome of every item as it comes, in any order, each item once. It keeps
nothing: rows belong to whoever asked for them. Closing its iterator ends what still runs.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from assay.errors import AssayError, BadInput

Item = TypeVar("Item")
Result = TypeVar("Result")
Started = Callable[[Item], None]


def no_files(_item: object) -> tuple[Path, ...]:
    return ()


@dataclass(frozen=True)
class Work(Generic[Item, Result]):
    """One function over many items.

    The function must be importable by name, for items and results travel between processes. `reads`
    names the modules that it needs: they are read once, not once a process. `files` gives what an
    item needs from this machine's disk; on a cluster they travel with it. A function that
    `runs_programs` needs no process around it: it is called with the item, the path of a folder of
    its own, which is not made yet and is removed afterwards, and an event that says when to end
    its programs.
    """

    function: Callable[..., Result]
    reads: tuple[str, ...] = ()
    files: Callable[[Item], Iterable[Path]] = no_files
    runs_programs: bool = False


@dataclass(frozen=True)
class Outcome(Generic[Item, Result]):
    """How one item ended: a result, an error for the person, or the death of its process."""

    item: Item
    seconds: float
    result: Result | None = None
    error: AssayError | None = None
    death: str | None = None

    def required(self, name: str) -> Result:
        """The result of an item that all depends on; otherwise its error, or a sentence."""
        if self.error is not None:
            raise self.error
        if self.result is None:
            raise BadInput(f"{name}: not done, {self.death}; try again, or with fewer `jobs`")
        return self.result


class WorkerFault(Exception):
    """The function raised something unforeseen: a defect, shown with the worker's traceback."""


class Watcher:
    """Hears how the work goes; this one ignores it, the command line shows it."""

    def begin(self, total: int, already: int) -> None:
        """There are `total` items, of which `already` are done."""

    def started(self, name: str) -> None:
        """A worker took up the item."""

    def finished(self, name: str, seconds: float, note: str = "") -> None:
        """The item is done; `note` says what is unusual about it."""

    def note(self, sentence: str) -> None:
        """Something a person should know."""


class Engine(Protocol):
    def describe(self) -> Mapping[str, Any]:
        """What a record of the work says of it."""
        ...

    def outcomes(
        self,
        work: Work[Item, Result],
        items: Sequence[Item],
        started: Started[Item] = lambda _: None,
        note: Callable[[str], None] = lambda _: None,
    ) -> Generator[Outcome[Item, Result], None, None]: ...


def available_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
