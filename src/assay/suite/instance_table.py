"""Tables of a benchmark that are made row by row by a command that may be stopped at any moment.

Finished rows go to a hidden file as they come, behind a line that says how they were made; the same
command goes on from there, for instances whose files are still the same. The table itself appears
when all rows are known; the hidden file stays while some of them failed, so that whoever mends
those does not pay for the others again. Rows are read from the file when they are asked for: there
may be more of them than memory holds.
"""

from __future__ import annotations

import json
import os
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar, overload

from assay.engine.processes import Jobs, outcomes_of
from assay.engine.work import Outcome, Watcher, Work
from assay.errors import BadInput, WrongLabel, defect
from assay.optional_packages import MissingPackage
from assay.question.model_file import network_sha256, question_files
from assay.store.file_hash import file_sha256
from assay.store.file_lock import locked
from assay.store.line_file import Line, LineFile
from assay.store.row_journal import RowJournal
from assay.store.whole_file import replaced, write_whole, writing

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
    @property
    def onnx(self) -> Path: ...
    @property
    def vnnlib(self) -> Path: ...
    @property
    def truth(self) -> Path | None: ...


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


class Rows(Sequence[Row]):
    """The rows of a table in the order of the instances; good ones lie in the file."""

    def __init__(self, names: Sequence[str], others: Mapping[str, Row]) -> None:
        self._names, self._others = names, others

    def __len__(self) -> int:
        return len(self._names)

    @overload
    def __getitem__(self, at: int) -> Row: ...
    @overload
    def __getitem__(self, at: slice) -> list[Row]: ...
    def __getitem__(self, at: int | slice) -> Row | list[Row]:
        if isinstance(at, slice):
            return [self._row(name) for name in self._names[at]]
        return self._row(self._names[at])

    def _row(self, name: str) -> Row:
        return self._others[name]


class _FiledRows(Rows[Row]):
    def __init__(
        self,
        names: Sequence[str],
        others: Mapping[str, Row],
        places: Mapping[str, int],
        file: LineFile,
        read: Callable[[Line], Row],
    ) -> None:
        super().__init__(names, others)
        self._places, self._file, self._read = places, file, read

    def _row(self, name: str) -> Row:
        place = self._places.get(name)
        return super()._row(name) if place is None else self._read(self._file.at(place))


class InstanceTable(Generic[Task, Row]):
    """How one command makes its table: `work` makes the row of a task.

    `read` makes a row of a line of the hidden file, `line` such a line of a row, with the hashes of
    its files; `failed` the row of a task that gave none, of its name and the reason. `note` is what
    a watcher hears of a row.
    """

    def __init__(
        self,
        make: Callable[[Task], Row],
        reads: tuple[str, ...],
        *,
        read: Callable[[Line], Row],
        line: Callable[[Row], tuple[Sequence[str], Line]],
        failed: Callable[[str, str], Row],
        note: Callable[[Row], str],
    ) -> None:
        self.work: Work[Task, Row] = Work(make, reads, task_files)
        self.read, self.line, self.failed, self.note = read, line, failed, note

    def row(self, task: Task) -> Row:
        """The row of one question, which is kept nowhere."""
        others: dict[str, Row] = {}
        self._make([task], 1, Watcher(), lambda row: others.update({row.instance: row}), others)
        return others[task.name]

    @contextmanager
    def made(
        self,
        path: Path,
        head: Mapping[str, Any],
        doing: str,
        tasks: Sequence[Task],
        jobs: Jobs,
        watcher: Watcher,
    ) -> Iterator[MadeTable[Row]]:
        """All rows, those of an interrupted command included; `path` is the hidden file.

        `head` has `settings`; `doing` is what another command might be at.
        """
        busy = f"{path.parent}: another command is {doing} it; wait for that"
        with writing(path):
            handle = locked(path, busy, os.O_APPEND | os.O_NOFOLLOW)
        try:
            journal = RowJournal(path, handle)
            places = self._known(journal, head, {t.name: t for t in tasks})
            already = len(places)
            watcher.begin(len(tasks), already)

            def keep(row: Row) -> None:
                hashes, line = self.line(row)
                added = {"instance": row.instance, "hashes": list(hashes), **line}
                places[row.instance] = journal.append(added)

            others: dict[str, Row] = {}
            waiting = [task for task in tasks if task.name not in places]
            try:
                self._make(waiting, jobs, watcher, keep, others)
            except WrongLabel as error:
                raise with_witness(path.parent, error) from None
            mine = os.dup(handle)  # rows may be asked for when the file has gone
            rows = _FiledRows(
                [task.name for task in tasks], others, places, LineFile(path, mine), self.read
            )
            weakref.finalize(rows, os.close, mine)
            yield MadeTable(rows, tuple(others.values()), already, journal)
        finally:
            os.close(handle)

    def _make(
        self,
        tasks: Sequence[Task],
        jobs: Jobs,
        watcher: Watcher,
        keep: Callable[[Row], None],
        others: dict[str, Row],
    ) -> None:
        outcomes = outcomes_of(self.work, tasks, jobs, watcher, lambda task: task.name)
        with closing(outcomes):
            for outcome in outcomes:
                if isinstance(outcome.error, WrongLabel | MissingPackage):
                    raise outcome.error
                row = outcome.result
                if row is None:
                    row = self.failed(outcome.item.name, _reason(outcome))
                # A failed row is not kept: whoever mends its files runs the command again.
                if row.status == "ok":
                    keep(row)
                else:
                    others[row.instance] = row
                watcher.finished(row.instance, outcome.seconds, self.note(row))

    def _known(
        self, journal: RowJournal, head: Mapping[str, Any], tasks: Mapping[str, Task]
    ) -> dict[str, int]:
        """Where the rows of an interrupted command with the same head lie, about these very bytes.

        A line that is no row is as good as none; rows of a command with another head are never
        thrown away.
        """
        wanted = json.loads(json.dumps(head))
        if journal.head is not None and "settings" not in journal.head:
            raise BadInput(f"{journal.path}: is no file of Assay's; move it away")
        if journal.head != wanted:
            _refuse_to_forget(journal, wanted)
            journal.restart(wanted)
            return {}
        places = {}
        for place, line in journal.numbered():
            task = tasks.get(str(line.get("instance")))
            if task is None:
                continue
            with suppress(*_DAMAGES):  # a file that cannot be read fails its own row later
                if line.get("hashes") == list(hashes((task.onnx, task.vnnlib, task.truth))):
                    self.read(line)
                    places[task.name] = place
        return places


class MadeTable(Generic[Row]):
    """The rows of a table that is about to be written."""

    def __init__(
        self, rows: Rows[Row], failed: tuple[Row, ...], already: int, journal: RowJournal
    ) -> None:
        self.rows, self.failed, self.already, self._journal = rows, failed, already, journal

    def write(self, table: Path, lines: Iterable[str], beside: Mapping[Path, str]) -> None:
        """Put the table and what goes beside it in their places, each whole or not at all.

        While rows failed the others are kept for the same command.
        """
        for target, text in beside.items():
            write_whole(target, text)
        with writing(table), replaced(table) as new, new.open("w", encoding="utf-8") as stream:
            stream.writelines(lines)
        if self.failed:
            self._journal.append({_ENDED: True})
        else:
            self._journal.path.unlink(missing_ok=True)


def task_files(task: RowTask) -> list[Path]:
    """What an instance needs from the disk."""
    truth = [] if task.truth is None else [task.truth, task.truth.with_suffix(".bin")]
    return question_files(task.onnx, task.vnnlib) + [path for path in truth if path.is_file()]


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


def _refuse_to_forget(journal: RowJournal, wanted: Line) -> None:
    count, last = 0, {}
    for last in journal.rows():
        count += "instance" in last
    if not count or _ENDED in last:  # their table is there
        return
    before, now = _said(journal.head or {}), _said(wanted)
    other = ", ".join(name for name in now if before.get(name) != now[name]) or "head"
    raise BadInput(
        f"{journal.path}: holds {count} finished rows of a stopped command (other {other}); give "
        "its options to go on, or remove the file to begin anew"
    )


def _said(head: Mapping[str, Any]) -> dict[str, Any]:
    """What a head says, name by name."""
    settings = head["settings"]
    return {"assay": head.get("assay"), **(settings if isinstance(settings, dict) else {})}


def _reason(outcome: Outcome[Task, Row]) -> str:
    reason = str(outcome.error) if outcome.error is not None else f"not done: {outcome.death}"
    return " ".join(reason.split())


def with_witness(folder: Path, error: WrongLabel) -> WrongLabel:
    """The same error, its point in a file that the sentence names."""
    target = folder / WRONG_LABEL_FILE
    write_whole(target, json.dumps({"error": str(error), "point": error.point}, indent=1) + "\n")
    return WrongLabel(f"{error}; the whole point is in {target}", error.point)
