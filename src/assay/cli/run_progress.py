"""How a run is shown on stderr: a live view on a terminal, otherwise plain lines."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from assay.judge.results import Result
from assay.judge.run_progress import RunWatcher, Tally, duration

FIRST_LINES_S = 2.0
LAST_LINES_S = 60.0
MOST_NAMED = 3
UNUSUAL = frozenset({"crashed", "garbled", "out-of-memory", "refused"})


@contextmanager
def shown_run() -> Iterator[RunWatcher]:
    console = Console(stderr=True)
    if not console.is_terminal:
        yield RunLines()
        return
    view = RunView(console)
    with Live(console=console, transient=True, get_renderable=view.rendered):
        yield view


class RunLines(RunWatcher):
    """A line about the whole run now and then, and one for each unusual ending."""

    def __init__(self) -> None:
        self._tally = Tally()
        self._begun = time.monotonic()
        self._next_line = self._begun

    def begin(self, total: int, before: Sequence[Result]) -> None:
        self._tally.begin(total, before)
        if before:
            _say(f"{len(before)} of {total} were done before")

    def running(self, tasks: Sequence[str]) -> None:
        self._tally.running = tuple(tasks)

    def finished(self, result: Result) -> None:
        tally = self._tally
        tally.add(result)
        if result.ending in UNUSUAL:
            _say(_unusual(result))
        now = time.monotonic()
        if now >= self._next_line or tally.done == tally.total:
            # A long run need not be told as closely as a short one.
            pause = (now - self._begun) / 20
            self._next_line = now + min(max(FIRST_LINES_S, pause), LAST_LINES_S)
            said = "; ".join(f"{name}: {tally.sentence(name)}" for name in sorted(tally.said))
            _say(f"{_standing(tally)}; {said}")

    def note(self, sentence: str) -> None:
        _say(sentence)


class RunView(RunWatcher):
    """A bar, what runs now, and a line for each verifier."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._tally = Tally()

    def begin(self, total: int, before: Sequence[Result]) -> None:
        self._tally.begin(total, before)

    def running(self, tasks: Sequence[str]) -> None:
        self._tally.running = tuple(tasks)

    def finished(self, result: Result) -> None:
        self._tally.add(result)
        if result.ending in UNUSUAL:
            self.note(_unusual(result))

    def note(self, sentence: str) -> None:
        self._console.print(Text(sentence))

    def rendered(self) -> RenderableType:
        tally = self._tally
        if tally.total == 0:
            return Text("run: looking at the benchmark")
        head = Table.grid(padding=(0, 1))
        bar = ProgressBar(total=tally.total, completed=tally.done, width=30)
        head.add_row(Text("run"), bar, Text(_standing(tally)))
        said = Table.grid(padding=(0, 1))
        # The run's own thread adds verifiers while this one draws.
        for name in sorted(tally.said.copy()):
            said.add_row(Text(f"  {name}", style="bold"), Text(tally.sentence(name)))
        named = tally.running[:MOST_NAMED]
        more = len(tally.running) - len(named)
        now = ", ".join(named) + (f" and {more} more" if more else "")
        return Group(head, said, Text(f"  now: {now}" if now else "", style="dim"))


def _standing(tally: Tally) -> str:
    return (
        f"{tally.done}/{tally.total} done, {len(tally.running)} running, "
        f"left {duration(tally.left_s)}"
    )


def _unusual(result: Result) -> str:
    return f"{result.verifier} {result.instance}: {result.ending} ({result.detail})"


def _say(text: str) -> None:
    print(f"run: {text}", file=sys.stderr, flush=True)
