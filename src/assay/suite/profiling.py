"""Profiles of many questions at once: in child processes, resumable, one bad file at a time.

Finished rows go to `.profile.jsonl` as they come, behind a line with the settings; a command that
is stopped or killed goes on from there. `profile.csv` appears when all rows are known.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path

import assay
from assay.difficulty.settings import Settings
from assay.errors import BadInput, WrongLabel
from assay.suite.folder import BenchmarkFolder, FolderEntry
from assay.suite.journal import writing
from assay.suite.line_journal import LineJournal, line_journal
from assay.suite.profile_rows import COLUMNS, PROFILE_FILE, Row, row_of, written
from assay.suite.workers import Outcome, Watcher, parallel

PROGRESS_FILE = ".profile.jsonl"
_FIRST_COLUMNS = ",".join(COLUMNS[:2])


@dataclass(frozen=True)
class ProfileTask:
    """One question to profile; `truth` is what is known about its answer."""

    name: str
    onnx: Path
    vnnlib: Path
    truth: Path | None
    settings: Settings


@dataclass(frozen=True)
class Profiled:
    """The rows in the order of the questions, and how many were known before."""

    rows: tuple[Row, ...]
    already: int

    @property
    def failed(self) -> list[Row]:
        return [row for row in self.rows if row.status != "ok"]


def profile_folder(
    path: Path, settings: Settings, jobs: int, watcher: Watcher | None = None
) -> Profiled:
    """Profile every instance of a benchmark folder and write `profile.csv` into it."""
    folder = BenchmarkFolder.open(path)
    _refuse_foreign(path / PROFILE_FILE)
    tasks = [_task(entry, settings) for entry in folder.entries]
    with _progress(path, settings) as progress:
        known = progress.known(tasks)
        rows = _profiled(tasks, known, jobs, watcher or Watcher(), progress)
        progress.finish(written(rows, settings))
    return Profiled(tuple(rows), len(known))


def profile_question(onnx: Path, vnnlib: Path, settings: Settings) -> Profiled:
    """Profile one question without a folder; its row is only returned."""
    task = ProfileTask(f"{onnx.stem}--{vnnlib.stem}", onnx, vnnlib, None, settings)
    return Profiled(tuple(_profiled([task], {}, 1, Watcher(), None)), 0)


def profile_task(task: ProfileTask) -> Row:
    """Profile one question (in a worker)."""
    import torch

    from assay.difficulty.profile import profile
    from assay.question.asked import read_question

    torch.set_num_threads(1)  # the order of summation must not depend on the machine's load
    certified = _certified(task)
    network, specification = read_question(task.onnx, task.vnnlib)
    return row_of(task.name, profile(network, specification, task.settings, certified))


def _task(entry: FolderEntry, settings: Settings) -> ProfileTask:
    return ProfileTask(entry.name, entry.onnx, entry.vnnlib, entry.truth, settings)


def _certified(task: ProfileTask) -> Fraction | None:
    """The margin that a truth about these very files promises, if it says robust."""
    from assay.truth.record import read_truth

    if task.truth is None:
        return None
    truth = read_truth(task.truth)
    if (truth.onnx_sha256, truth.vnnlib_sha256) != _hashes(task):
        raise BadInput(f"{task.truth}: is about other bytes than {task.name}; rebuild it")
    return truth.margin if truth.answer == "robust" else None


def _hashes(task: ProfileTask) -> tuple[str, str]:
    found = []
    for path in (task.onnx, task.vnnlib):
        try:
            with path.open("rb") as stream:
                found.append(hashlib.file_digest(stream, "sha256").hexdigest())
        except OSError as error:
            raise BadInput(f"{path}: cannot be read ({error.strerror}); restore it") from None
    return found[0], found[1]


def _profiled(
    tasks: Sequence[ProfileTask],
    known: dict[str, Row],
    jobs: int,
    watcher: Watcher,
    progress: _Progress | None,
) -> list[Row]:
    rows = dict(known)
    watcher.begin(len(tasks), len(known))
    waiting = [task for task in tasks if task.name not in known]
    outcomes = parallel(profile_task, waiting, jobs, lambda task: watcher.started(task.name))
    with closing(outcomes):
        for outcome in outcomes:
            if isinstance(outcome.error, WrongLabel):
                raise outcome.error
            row = _settled(outcome)
            rows[row.instance] = row
            if progress is not None:
                progress.add(outcome.item, row)
            watcher.finished(row.instance, outcome.seconds, row.note)
    return [rows[task.name] for task in tasks]


def _settled(outcome: Outcome[ProfileTask, Row]) -> Row:
    if outcome.result is not None:
        return outcome.result
    reason = str(outcome.error) if outcome.error is not None else f"not done: {outcome.death}"
    return Row(outcome.item.name, "failed", note=" ".join(reason.split()))


class _Progress:
    """The file of finished rows, held by one command at a time."""

    def __init__(self, folder: Path, journal: LineJournal, settings: Settings) -> None:
        self._folder, self._journal = folder, journal
        self._head = {"assay": assay.__version__, "settings": asdict(settings)}

    def known(self, tasks: Sequence[ProfileTask]) -> dict[str, Row]:
        """Rows of an interrupted command with these settings about these bytes."""
        if self._journal.head != self._head:
            self._journal.restart(self._head)
            return {}
        rows = {}
        by_name = {task.name: task for task in tasks}
        for line in self._journal.lines:
            task = by_name.get(line.get("instance", ""))
            if task is not None and tuple(line.get("hashes", ())) == _hashes(task):
                point = tuple(line.get("point", ()))
                rows[task.name] = Row(task.name, "ok", line["cells"], line["note"], point)
        return rows

    def add(self, task: ProfileTask, row: Row) -> None:
        """A failed row is not kept: whoever mends its files runs the command again."""
        if row.status == "ok":
            self._journal.append(
                {
                    "instance": row.instance,
                    "hashes": _hashes(task),
                    "cells": row.cells,
                    "note": row.note,
                    "point": row.point,
                }
            )

    def finish(self, data: bytes) -> None:
        target = self._folder / PROFILE_FILE
        temporary = target.with_name(f".{PROFILE_FILE}.new")
        try:
            with writing(target):
                temporary.write_bytes(data)
                temporary.replace(target)
        finally:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
        (self._folder / PROGRESS_FILE).unlink(missing_ok=True)


@contextmanager
def _progress(folder: Path, settings: Settings) -> Iterator[_Progress]:
    busy = f"{folder}: another command is profiling it; wait for that"
    with line_journal(folder / PROGRESS_FILE, busy) as journal:
        yield _Progress(folder, journal, settings)


def _refuse_foreign(path: Path) -> None:
    """A file of that name that `assay profile` did not write is not replaced."""
    if not path.exists():
        return
    try:
        with path.open("rb") as stream:
            start = stream.read(len(_FIRST_COLUMNS))
    except OSError as error:
        raise BadInput(f"{path}: cannot be read ({error.strerror}); move it away") from None
    if start != _FIRST_COLUMNS.encode():
        raise BadInput(f"{path}: exists and is no profile of Assay's; move it away")
