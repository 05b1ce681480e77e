"""What commands print: text or one JSON document on stdout, progress on stderr."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.status import Status
from rich.table import Table
from rich.text import Text

from assay.engine.work import Watcher

_WIDE = 160
_SILENT_S = 5.0
"""Without a terminal a line of progress is printed so often."""
_LONGEST_SILENCE_S = 60.0


def print_json(document: Any) -> None:
    """JSON knows no infinity: such a number is given as text."""
    print(json.dumps(_finite(document), indent=1))


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(each) for each in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def print_line(text: str) -> None:
    print(text)


def one_line(text: str) -> str:
    """Names and reasons come from files: none of them begins a line, or hides one."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def print_table(title: str, header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print a table; cells are plain text, so that no name is read as markup."""
    table = Table(title=title, title_justify="left")
    for name in header:
        numeric = bool(rows) and all(isinstance(row[len(table.columns)], int) for row in rows)
        table.add_column(name, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(one_line(str(cell))) for cell in row))
    console = Console()
    # A file or a pipe has no width: there lines may be long, and nothing is cut in two.
    (console if console.is_terminal else Console(width=_WIDE)).print(table)


@contextmanager
def shown_progress(what: str) -> Iterator[Watcher]:
    """Show work on stderr: a bar with what is running on a terminal, otherwise plain lines."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _Lines(what)
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[now]}", style="dim"),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        yield _Bar(what, progress)


@contextmanager
def told_progress(what: str) -> Iterator[Callable[[str], None]]:
    """Say on stderr where work of unknown length is: one line that changes, or a line at times."""
    console = Console(stderr=True)
    if console.is_terminal:
        with Status(what, console=console) as status:
            yield lambda text: status.update(Text(one_line(f"{what}: {text}")))
        return
    last = time.monotonic()

    def say(text: str) -> None:
        nonlocal last
        if time.monotonic() - last >= _SILENT_S:
            last = time.monotonic()
            print(one_line(f"{what}: {text}"), file=sys.stderr, flush=True)

    yield say


class _Lines(Watcher):
    """A line now and then, one at the end, and one for everything unusual."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._total = self._done = self._here = 0
        self._begun = time.monotonic()
        self._next_line = self._begun + _SILENT_S

    def begin(self, total: int, already: int) -> None:
        self._total, self._done = total, already
        if already:
            self._say(f"{already} of {total} were done before")

    def finished(self, name: str, seconds: float, note: str = "") -> None:
        self._done += 1
        self._here += 1
        now = time.monotonic()
        if not (note or now >= self._next_line or self._done == self._total):
            return
        # Long work need not be told as closely as short work.
        pause = min(max(_SILENT_S, (now - self._begun) / 20), _LONGEST_SILENCE_S)
        self._next_line = now + pause
        left = (now - self._begun) / self._here * (self._total - self._done)
        tail = f" ({note})" if note else ""
        self._say(f"{self._done}/{self._total} {name} {seconds:.1f} s, left {left:.0f} s{tail}")

    def _say(self, text: str) -> None:
        print(one_line(f"{self._what}: {text}"), file=sys.stderr, flush=True)


class _Bar(Watcher):
    def __init__(self, what: str, progress: Progress) -> None:
        self._progress = progress
        self._task: TaskID = progress.add_task(what, total=None, now="")
        self._running: list[str] = []

    def begin(self, total: int, already: int) -> None:
        self._progress.update(self._task, total=total, completed=already)

    def started(self, name: str) -> None:
        self._running.append(name)
        self._refresh()

    def finished(self, name: str, seconds: float, note: str = "") -> None:  # noqa: ARG002
        self._running.remove(name)
        self._progress.advance(self._task)
        self._refresh()
        if note:
            self._progress.console.print(Text(one_line(f"{name}: {note}")))

    def _refresh(self) -> None:
        self._progress.update(self._task, now=one_line(" ".join(self._running[:2])))
