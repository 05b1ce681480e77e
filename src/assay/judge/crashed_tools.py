"""Tools that crashed on everything, and their last words: most likely they were never set up."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from assay.judge.results import Result
from assay.judge.task import Ending

_CRASHED: frozenset[Ending] = frozenset({"crashed", "garbled"})
_NOT_STARTED: frozenset[Ending] = frozenset({"unsupported"})
_MOST_LINES = 12
_LONGEST_LINE = 300
_STDERR = "\n--- stderr\n"


@dataclass(frozen=True)
class CrashedTool:
    """A tool whose every task crashed or left no readable result.

    `ended` is how most tasks ended, `instance` the first of those, `log` its file, and `stderr`
    the last lines that the tool wrote there.
    """

    verifier: str
    version: str
    tasks: int
    ended: str
    instance: str
    log: str
    stderr: tuple[str, ...]

    def sentence(self) -> str:
        every = "its only task" if self.tasks == 1 else f"all {self.tasks} tasks"
        return f"{self.verifier} crashed on {every} ({self.ended})"

    def lines(self) -> list[str]:
        """What a person reads."""
        if not self.stderr:
            return [f"{self.sentence()}; it wrote nothing to stderr. Log: {self.log}"]
        return [
            f"{self.sentence()}. Its stderr ended, on {self.instance}, with:",
            *(f"  {line}" for line in self.stderr),
            f"Log: {self.log}",
        ]

    def document(self) -> dict[str, Any]:
        return asdict(self)


def crashed_tools(results: Iterable[tuple[Result, Path]]) -> tuple[CrashedTool, ...]:
    """Of results, each with the folder of its run, the tools that have nothing but crashes.

    A question that a tool was never asked, because it has an operator that the tool does not take,
    says nothing about it.
    """
    started: dict[tuple[str, str], list[tuple[Result, Path]]] = defaultdict(list)
    for result, run in results:
        if result.ending not in _NOT_STARTED:
            started[result.verifier, result.version].append((result, run))
    return tuple(
        _crashed_tool(found)
        for _, found in sorted(started.items())
        if all(result.ending in _CRASHED for result, _ in found)
    )


def _crashed_tool(found: list[tuple[Result, Path]]) -> CrashedTool:
    endings = Counter(_how(result) for result, _ in found)
    ended = endings.most_common(1)[0][0]
    result, run = min(
        (pair for pair in found if _how(pair[0]) == ended),
        key=lambda pair: (pair[0].instance, pair[0].repeat),
    )
    log = run / result.log
    return CrashedTool(
        verifier=result.verifier,
        version=result.version,
        tasks=len(found),
        ended=ended,
        instance=result.instance,
        log=str(log),
        stderr=_last_lines(log),
    )


def _how(result: Result) -> str:
    """How it ended, without the last line of stderr, which is shown with the others."""
    return result.detail.partition("; stderr: ")[0] or result.ending


def _last_lines(log: Path) -> tuple[str, ...]:
    text = ""
    with suppress(OSError):
        text = log.read_bytes().decode("utf-8", "replace")
    shown = []
    for line in text.rpartition(_STDERR)[2].splitlines() if _STDERR in text else ():
        printable = "".join(c if c.isprintable() else " " for c in line).rstrip()
        if printable:
            shown.append(printable[:_LONGEST_LINE])
    return tuple(shown[-_MOST_LINES:])
