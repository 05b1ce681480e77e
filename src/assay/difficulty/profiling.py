"""Profiles of many questions at once: in child processes, resumable, one bad file at a time.

Finished rows go to `.profile.jsonl` as they come, behind a line with the settings; a command that
is stopped or killed goes on from there. `profile.csv` appears when all rows are known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import assay
from assay.difficulty.profile_rows import COLUMNS, Row, row_of, written
from assay.difficulty.profile_table import PROFILE_FILE
from assay.difficulty.settings import Settings
from assay.engine.processes import Jobs
from assay.engine.work import Watcher
from assay.errors import AssayError
from assay.suite.folder import BenchmarkFolder, FolderEntry, instance_name
from assay.suite.instance_table import (
    InstanceTable,
    defect_note,
    hashes,
    refuse_foreign,
)
from assay.suite.proved_truths import proved_truth, proved_truths

if TYPE_CHECKING:
    from assay.difficulty.label import Label

PROGRESS_FILE = ".profile.jsonl"
_START = ",".join(COLUMNS[:2])
"""How our own file begins."""


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

    rows: Sequence[Row]
    already: int
    failed: tuple[Row, ...] = ()


def profile_folder(
    path: Path, settings: Settings, jobs: Jobs, watcher: Watcher | None = None
) -> Profiled:
    """Profile every instance of a benchmark folder and write `profile.csv` into it."""
    folder = BenchmarkFolder.open(path)
    refuse_foreign(path / PROFILE_FILE, _START, "profile")
    proved_truths(folder, jobs=jobs)
    tasks = [_task(entry, settings) for entry in folder.entries]
    head = {"assay": assay.__version__, "settings": asdict(settings)}
    progress = path / PROGRESS_FILE
    with TABLE.made(progress, head, "profiling", tasks, jobs, watcher or Watcher()) as made:
        made.write(path / PROFILE_FILE, written(made.rows, settings), {})
        return Profiled(made.rows, made.already, made.failed)


def profile_question(onnx: Path, vnnlib: Path, settings: Settings) -> Profiled:
    """Profile one question; its row is only returned. A truth in its folder counts as well."""
    name = instance_name(onnx, vnnlib)
    truth = vnnlib.absolute().parent.parent / "truth" / f"{name}.json"
    known = truth if truth.is_file() else None
    task = ProfileTask(name, onnx, vnnlib, known, settings)
    row = TABLE.row(task)
    return Profiled([row], 0, () if row.status == "ok" else (row,))


def profile_task(task: ProfileTask) -> Row:
    """Profile one question (in a worker); a defect of ours costs its row, not the others."""
    import torch

    from assay.difficulty.profile import profile
    from assay.question.asked import read_question

    torch.set_num_threads(1)  # the order of summation must not depend on the machine's load
    sha256 = hashes((task.onnx, task.vnnlib, task.truth))
    label = _label(task, sha256[:2])
    network, specification = read_question(task.onnx, task.vnnlib)
    try:
        found = profile(network, specification, task.settings, label)
    except AssayError:
        raise
    except Exception as error:
        return Row(task.name, "failed", note=defect_note(error))
    return row_of(task.name, found, sha256)


def _task(entry: FolderEntry, settings: Settings) -> ProfileTask:
    return ProfileTask(entry.name, entry.onnx, entry.vnnlib, entry.truth, settings)


def _row(line: Mapping[str, Any]) -> Row:
    cells, note, point = line["cells"], line["note"], tuple(line["point"])
    if not set(cells) <= set(COLUMNS) or not isinstance(note, str):
        raise ValueError("no row of a profile")
    if not all(isinstance(cell, int | float | str) for cell in (*cells.values(), *point)):
        raise ValueError("no row of a profile")
    row = Row(line["instance"], "ok", dict(cells), note, point, line["hashes"][2])
    if row.hashes[:2] != tuple(line["hashes"][:2]):
        raise ValueError("a row about other files")
    return row


def _label(task: ProfileTask, hashes: tuple[str, str]) -> Label | None:
    """What a proved truth about these very files says."""
    from assay.difficulty.label import Label

    if task.truth is None:
        return None
    truth = proved_truth(task.name, task.onnx, task.vnnlib, task.truth, hashes)
    return Label(truth.answer, truth.margin)


def _line(row: Row) -> tuple[tuple[str, ...], dict[str, Any]]:
    return row.hashes, {"cells": row.cells, "note": row.note, "point": row.point}


TABLE = InstanceTable(
    profile_task,
    ("torch", "assay.difficulty.profile", "assay.question.asked"),
    read=_row,
    line=_line,
    failed=lambda name, reason: Row(name, "failed", note=reason),
    note=lambda row: row.note,
)
