"""How a run goes: what is done and running, what each verifier said, when it may be over."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence

from assay.engine.work import Watcher
from assay.judge.results import Result


class RunWatcher:
    """Hears how a run goes; this one ignores it, the command line shows it."""

    def begin(self, total: int, before: Sequence[Result]) -> None:
        """The run has `total` tasks, of which some were done before."""

    def running(self, tasks: Sequence[str]) -> None:
        """These tasks are under way now."""

    def finished(self, result: Result) -> None:
        """One more result is safe on disk."""

    def note(self, sentence: str) -> None:
        """Something a person should know."""


class _Plain(RunWatcher):
    """Tells a watcher of any work what it can take in."""

    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher

    def begin(self, total: int, before: Sequence[Result]) -> None:
        self._watcher.begin(total, len(before))

    def finished(self, result: Result) -> None:
        label = f"{result.verifier} {result.instance}"
        self._watcher.started(label)
        note = "" if result.ending == "answered" else result.ending
        self._watcher.finished(label, result.wall_s, note)


def hearing(watcher: RunWatcher | Watcher | None) -> RunWatcher:
    """Any watcher as one of runs."""
    if isinstance(watcher, RunWatcher):
        return watcher
    return RunWatcher() if watcher is None else _Plain(watcher)


class Tally:
    """The numbers behind what is shown."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._begun = clock()
        self._before = 0
        self.total = 0
        self.done = 0
        self.running: tuple[str, ...] = ()
        self.said: dict[str, Counter[str]] = {}

    def begin(self, total: int, before: Sequence[Result]) -> None:
        self._begun = self._clock()
        self.total, self._before = total, len(before)
        for result in before:
            self.add(result)

    def add(self, result: Result) -> None:
        self.done += 1
        word = (result.verdict if result.counts else None) or result.ending
        self.said.setdefault(result.verifier, Counter())[word] += 1

    @property
    def left_s(self) -> float | None:
        """Seconds that the rest takes at the pace of this session; None before its first result."""
        here = self.done - self._before
        if here == 0:
            return None
        return (self._clock() - self._begun) / here * (self.total - self.done)

    def sentence(self, verifier: str) -> str:
        """What a verifier said so far, the most frequent first: `12 robust, 3 timeout`."""
        return ", ".join(f"{n} {word}" for word, n in self.said[verifier].most_common())


def duration(seconds: float | None) -> str:
    """Seconds as a person reads them: `42 s`, `3 min 5 s`, `2 h 14 min`."""
    if seconds is None:
        return "?"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
