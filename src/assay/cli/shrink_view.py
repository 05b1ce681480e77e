"""What `assay shrink` shows while it works, and what it prints at the end."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, fields
from typing import TYPE_CHECKING

from rich.console import Console
from rich.live import Live
from rich.text import Text

from assay.cli.output import print_json, print_line, print_table
from assay.judge.run_progress import duration
from assay.shrink.search import ShrinkWatcher
from assay.shrink.size import Size

if TYPE_CHECKING:
    from assay.shrink.shrinking import Shrunk

_LINES_S = 5.0
_ENDINGS = {
    "fixpoint": "nothing more can go",
    "budget": "the seconds of --time are spent; the same command with more goes on from here",
    "calls": "the --calls are spent; the same command goes on from here",
    "stopped": "stopped; this is the best so far",
}


@contextmanager
def shown_shrinking() -> Iterator[ShrinkWatcher]:
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _Lines()
        return
    view = _View(console)
    with Live(console=console, transient=True, get_renderable=view.rendered):
        yield view


class _Lines(ShrinkWatcher):
    """A line now and then."""

    def __init__(self) -> None:
        self._begun = self._said = time.monotonic()

    def now(self, now: Size, calls: int, doing: str) -> None:
        at = time.monotonic()
        if at - self._said >= _LINES_S:
            self._said = at
            self.note(_standing(now, calls, doing, at - self._begun))

    def note(self, sentence: str) -> None:
        print(f"shrink: {sentence}", file=sys.stderr, flush=True)


class _View(ShrinkWatcher):
    """One line that changes."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._begun = time.monotonic()
        self._now: tuple[Size, int, str] | None = None

    def now(self, now: Size, calls: int, doing: str) -> None:
        self._now = now, calls, doing

    def note(self, sentence: str) -> None:
        self._console.print(Text(sentence))

    def rendered(self) -> Text:
        if self._now is None:
            return Text("shrink: asking again")
        return Text(f"shrink: {_standing(*self._now, time.monotonic() - self._begun)}")


def _standing(now: Size, calls: int, doing: str, seconds: float) -> str:
    return (
        f"{now.inputs} inputs, {now.units} units, {now.weights} weights, "
        f"{now.disjuncts} disjuncts; {calls} calls, {duration(seconds)}; {doing}"
    )


def print_shrunk(found: Shrunk, as_json: bool) -> None:
    if as_json:
        print_json({**asdict(found), "folder": str(found.folder)})
        return
    rows = [
        (
            each.name.replace("_", " "),
            getattr(found.before, each.name),
            getattr(found.after, each.name),
        )
        for each in fields(Size)
    ]
    print_table(f"{found.verifier} is {found.outcome}", ("", "before", "after"), rows)
    steps = sum(found.steps.values())
    print_line(
        f"{steps} steps, {found.calls} calls, {found.seconds:.0f} s: {_ENDINGS[found.ended]}."
    )
    if not found.steps:
        print_line("Nothing could be shrunk: the question is as it was.")
    if found.written:
        print_line(f"{found.folder}: confirmed {found.confirmed} times; see its REPRODUCE.md.")
    else:
        print_line(f"{found.folder}: already holds one as small or smaller; it stays as it is.")
