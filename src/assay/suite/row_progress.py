"""Tables of a benchmark that are made row by row by a command that may be stopped at any moment.

Finished rows go to a hidden file as they come, behind a line that says how they were made; the same
command goes on from there, for instances whose files are still the same. The table itself appears
when all rows are known; the hidden file stays while some of them failed, so that whoever mends
those does not pay for the others again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol, TypeVar

from assay.errors import BadInput, WrongLabel, defect
from assay.optional_packages import MissingPackage
from assay.suite.file_hash import file_sha256, network_sha256
from assay.suite.journal import writing
from assay.suite.line_journal import Line, LineJournal, line_journal
from assay.suite.whole_file import write_whole
from assay.suite.workers import Outcome, Watcher, parallel

_ENDED = "ended"
"""A line with this key says that the table of the rows before it was written."""
WRONG_LABEL_FILE = "wrong-label.json"
INTERNAL = "internal error"
"""How the note of a row begins that failed by a defect of ours."""
Files = tuple[Path, Path, Path | None]
"""The network and the question of an instance, and what is known about its answer."""
_DAMAGES = (BadInput, KeyError, TypeError, ValueError, AttributeError)


class RowTask(Protocol):
    @property
    def name(self) -> str: ...


class RowOutcome(Protocol):
    """A row; `status` is "ok", or `note` says why not."""

    @property
    def instance(self) -> str: ...
    @property
    def status(self) -> str: ...
    @property
    def note(self) -> str: ...


Task = TypeVar("Task", bound=RowTask)
Row = TypeVar("Row", bound=RowOutcome)
Parsed = TypeVar("Parsed")


class RowProgress:
    """The file of finished rows, held by one command at a time."""

    def __init__(self, path: Path, journal: LineJournal, head: Mapping[str, Any]) -> None:
        self._path, self._journal, self._head = path, journal, json.loads(json.dumps(head))

    def known(
        self, files: Mapping[str, Files], parsed: Callable[[Line], Parsed]
    ) -> dict[str, Parsed]:
        """Rows of an interrupted command with the same head about these very bytes.

        A line that `parsed` makes no row of is as good as none; rows of a command with another
        head are never thrown away.
        """
        if self._journal.head is not None and "settings" not in self._journal.head:
            raise BadInput(f"{self._path}: is no file of Assay's; move it away")
        if self._journal.head != self._head:
            self._refuse_to_forget()
            self._journal.restart(self._head)
            return {}
        rows = {}
        for line in self._journal.lines:
            name = line.get("instance")
            if not isinstance(name, str) or name not in files:
                continue
            with suppress(*_DAMAGES):  # a file that cannot be read fails its own row later
                if line.get("hashes") == list(hashes(files[name])):
                    rows[name] = parsed(line)
        return rows

    def _refuse_to_forget(self) -> None:
        lines = self._journal.lines
        count = sum("instance" in line for line in lines)
        if not count or _ENDED in lines[-1]:  # their table is there
            return
        before, now = _told(self._journal.head or {}), _told(self._head)
        other = ", ".join(name for name in now if before.get(name) != now[name]) or "head"
        raise BadInput(
            f"{self._path}: holds {count} finished rows of a stopped command (other {other}); give "
            "its options to go on, or remove the file to begin anew"
        )

    def add(self, instance: str, sha256: tuple[str, ...], row: Line) -> None:
        self._journal.append({"instance": instance, "hashes": sha256, **row})

    def finish(self, written: Mapping[Path, bytes], *, failed: bool) -> None:
        """Put the finished files in their places, each whole or not at all.

        While rows `failed` the others are kept for the same command.
        """
        for target, data in written.items():
            write_whole(target, data)
        if failed:
            self._journal.append({_ENDED: True})
        else:
            self._path.unlink(missing_ok=True)


@contextmanager
def row_progress(path: Path, head: Mapping[str, Any], doing: str) -> Iterator[RowProgress]:
    """`head` has `settings`; `doing` is what another command might be at."""
    with line_journal(path, f"{path.parent}: another command is {doing} it; wait for that") as held:
        yield RowProgress(path, held, head)


def made_rows(
    make: Callable[[Task], Row],
    tasks: Sequence[Task],
    known: Mapping[str, Row],
    jobs: int,
    watcher: Watcher,
    *,
    failed: Callable[[str, str], Row],
    keep: Callable[[Row], None] | None,
    told: Callable[[Row], str],
) -> list[Row]:
    """The row of every task, in their order; those not known are made in child processes.

    `failed` makes the row of a task that gave none, of its name and the reason; `keep` is handed
    every good row as it comes; `told` is what the watcher hears of one.
    """
    rows = dict(known)
    watcher.begin(len(tasks), len(known))
    waiting = [task for task in tasks if task.name not in known]
    outcomes = parallel(make, waiting, jobs, lambda task: watcher.started(task.name))
    with closing(outcomes):
        for outcome in outcomes:
            if isinstance(outcome.error, WrongLabel | MissingPackage):
                raise outcome.error
            row = outcome.result
            if row is None:
                row = failed(outcome.item.name, _reason(outcome))
            rows[row.instance] = row
            # A failed row is not kept: whoever mends its files runs the command again.
            if keep is not None and row.status == "ok":
                keep(row)
            watcher.finished(row.instance, outcome.seconds, told(row))
    return [rows[task.name] for task in tasks]


def _told(head: Mapping[str, Any]) -> dict[str, Any]:
    """What a head says, name by name."""
    settings = head["settings"]
    return {"assay": head.get("assay"), **(settings if isinstance(settings, dict) else {})}


def _reason(outcome: Outcome[Task, Row]) -> str:
    reason = str(outcome.error) if outcome.error is not None else f"not done: {outcome.death}"
    return " ".join(reason.split())


def defect_note(error: Exception) -> str:
    """The note of a row that a defect of ours cost; with ASSAY_DEBUG=1 the defect itself."""
    return f"{INTERNAL} ({defect(error)})"


def hashes(files: Files) -> tuple[str, str, str]:
    """The sha256 of each, as `proved_truths` means it; nothing for a file that is not there."""
    network, question, truth = files
    return (
        network_sha256(network) if truth is None else file_sha256(network),
        file_sha256(question),
        "" if truth is None else file_sha256(truth),
    )


def refuse_foreign(path: Path, start: str, what: str) -> None:
    """A file of that name that does not begin as ours does is not replaced."""
    if not path.exists():
        return
    try:
        with path.open("rb") as stream:
            found = stream.read(len(start.encode()))
    except OSError as error:
        raise BadInput(f"{path}: cannot be read ({error.strerror}); move it away") from None
    if found != start.encode():
        raise BadInput(f"{path}: exists and is no {what} of Assay's; move it away")


def with_witness(folder: Path, error: WrongLabel) -> WrongLabel:
    """The same error, its point in a file that the sentence names."""
    target = folder / WRONG_LABEL_FILE
    with writing(target):
        target.write_text(json.dumps({"error": str(error), "point": error.point}, indent=1) + "\n")
    return WrongLabel(f"{error}; the whole point is in {target}", error.point)
