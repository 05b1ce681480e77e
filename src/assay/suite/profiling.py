"""Profiles of many questions at once: in child processes, resumable, one bad file at a time.

Finished rows go to `.profile.jsonl` as they come, behind a line with the settings; a command that
is stopped or killed goes on from there. `profile.csv` appears when all rows are known.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import assay
from assay.difficulty.profile_table import PROFILE_FILE
from assay.difficulty.settings import Settings
from assay.errors import AssayError, BadInput, WrongLabel
from assay.suite.file_hash import file_sha256
from assay.suite.folder import BenchmarkFolder, FolderEntry, instance_name
from assay.suite.journal import writing
from assay.suite.line_journal import LineJournal, line_journal
from assay.suite.profile_rows import COLUMNS, Row, row_of, written
from assay.suite.workers import Outcome, Watcher, parallel

if TYPE_CHECKING:
    from assay.difficulty.label import Label

PROGRESS_FILE = ".profile.jsonl"
WRONG_LABEL_FILE = "wrong-label.json"
INTERNAL = "internal error"
"""How the note of a row begins that failed by a defect of ours."""
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
        try:
            rows = _profiled(tasks, known, jobs, watcher or Watcher(), progress)
        except WrongLabel as error:
            raise _with_witness(path, error) from None
        progress.finish(written(rows, settings))
    return Profiled(tuple(rows), len(known))


def profile_question(onnx: Path, vnnlib: Path, settings: Settings) -> Profiled:
    """Profile one question; its row is only returned. A truth in its folder counts as well."""
    name = instance_name(onnx, vnnlib)
    truth = vnnlib.absolute().parent.parent / "truth" / f"{name}.json"
    known = truth if truth.is_file() else None
    task = ProfileTask(name, onnx, vnnlib, known, settings)
    return Profiled(tuple(_profiled([task], {}, 1, Watcher(), None)), 0)


def profile_task(task: ProfileTask) -> Row:
    """Profile one question (in a worker); a defect of ours costs its row, not the others."""
    import torch

    from assay.difficulty.profile import profile
    from assay.question.asked import read_question

    torch.set_num_threads(1)  # the order of summation must not depend on the machine's load
    hashes = _hashes(task)
    label = _label(task, hashes)
    network, specification = read_question(task.onnx, task.vnnlib)
    try:
        found = profile(network, specification, task.settings, label)
    except AssayError:
        raise
    except Exception as error:
        if os.environ.get("ASSAY_DEBUG") == "1":
            raise
        reason = " ".join(str(error).split())[:200]
        return Row(task.name, "failed", note=f"{INTERNAL} ({type(error).__name__}: {reason})")
    return row_of(task.name, found, hashes)


def _task(entry: FolderEntry, settings: Settings) -> ProfileTask:
    return ProfileTask(entry.name, entry.onnx, entry.vnnlib, entry.truth, settings)


def _label(task: ProfileTask, hashes: tuple[str, str]) -> Label | None:
    """What a truth about these very files says."""
    from assay.difficulty.label import Label
    from assay.truth.record import read_truth

    if task.truth is None:
        return None
    truth = read_truth(task.truth)
    if (truth.onnx_sha256, truth.vnnlib_sha256) != hashes:
        raise BadInput(f"{task.truth}: is about other bytes than {task.name}; rebuild it")
    return Label(truth.answer, truth.margin)


def _hashes(task: ProfileTask) -> tuple[str, str]:
    return file_sha256(task.onnx), file_sha256(task.vnnlib)


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
                progress.add(row)
            watcher.finished(row.instance, outcome.seconds, row.note)
    return [rows[task.name] for task in tasks]


def _with_witness(folder: Path, error: WrongLabel) -> WrongLabel:
    """The same error, its point in a file that the sentence names."""
    target = folder / WRONG_LABEL_FILE
    with writing(target):
        target.write_text(json.dumps({"error": str(error), "point": error.point}, indent=1) + "\n")
    return WrongLabel(f"{error}; the whole point is in {target}", error.point)


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
        if self._journal.head is not None and "settings" not in self._journal.head:
            raise BadInput(f"{self._folder / PROGRESS_FILE}: is no file of Assay's; move it away")
        if self._journal.head != self._head:
            self._journal.restart(self._head)
            return {}
        rows = {}
        by_name = {task.name: task for task in tasks}
        for line in self._journal.lines:
            task = by_name.get(line.get("instance", ""))
            if task is not None:
                row = Row(task.name, "ok", line["cells"], line["note"], tuple(line["point"]))
                if row.hashes == _hashes(task):
                    rows[task.name] = row
        return rows

    def add(self, row: Row) -> None:
        """A failed row is not kept: whoever mends its files runs the command again."""
        if row.status == "ok":
            self._journal.append(
                {
                    "instance": row.instance,
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
