"""Measure analysers on questions of proven failure rate, one question a process, resumable.

A folder holds `questions` (a benchmark, unless another one is named), `.calibration.jsonl`, which
a stopped command goes on with, and at the end `calibration.json` and `calibration.csv`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from assay import __version__
from assay.analyse.analysers import chosen
from assay.analyse.calibration.files import SCHEMA, Calibration, measured_row, write_calibration
from assay.analyse.calibration.known import Effort, KnownQuestion
from assay.analyse.calibration.measured import Measured
from assay.engine.processes import Jobs, outcomes_of
from assay.engine.work import Watcher, Work
from assay.errors import BadInput, CannotCertify
from assay.question.model_file import question_files
from assay.store.line_file import Line
from assay.store.row_journal import RowJournal, row_journal
from assay.store.whole_file import made_folder
from assay.suite.build import build
from assay.suite.folder import BenchmarkFolder, FolderEntry
from assay.suite.proved_truths import entry_truth, proved_truths
from assay.suite.spec import load_suite
from assay.truth.record import Truth

SUITE = "calibration"
QUESTIONS = "questions"
PROGRESS = ".calibration.jsonl"
READS = ("torch", "scipy.stats", "assay.analyse.trials", "assay.analyse.weakened.decide")
"""What every analyser needs."""
_BUSY = "another `assay calibrate` is at work in it; wait for it, or choose another folder"


@dataclass(frozen=True)
class Subject:
    """A question on disk, with the ends between which its failure rate is proven to lie."""

    name: str
    kind: str
    inputs: int
    onnx: Path
    vnnlib: Path
    lower: str
    upper: str
    sha256: tuple[str, str]

    @property
    def files(self) -> list[Path]:
        return question_files(self.onnx, self.vnnlib)

    @property
    def rate(self) -> float:
        return float((Fraction(self.lower) + Fraction(self.upper)) / 2)

    @property
    def document(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "kind": self.kind,
            "inputs": self.inputs,
            "rate": self.rate,
            "lower": self.lower,
            "upper": self.upper,
            "onnx_sha256": self.sha256[0],
            "vnnlib_sha256": self.sha256[1],
        }


@dataclass(frozen=True)
class MeasureTask:
    subject: Subject
    effort: Effort
    analysers: tuple[str, ...]


def built_questions(folder: Path, jobs: Jobs, watcher: Watcher) -> Path:
    """The bundled benchmark inside a folder: built now, or found there from before."""
    place = folder / QUESTIONS
    report = build(load_suite(SUITE), place, seed=None, jobs=jobs, watcher=watcher)
    if report.failures:
        first = report.failures[0]
        raise CannotCertify(f"{place}: {first['task']} could not be built: {first['reason']}")
    return place


def subjects_of(path: Path, jobs: Jobs, watcher: Watcher) -> list[Subject]:
    """The questions of a benchmark whose failure rate is known, after its truths were checked."""
    folder = BenchmarkFolder.open(path)
    truths = proved_truths(folder, watcher=watcher, jobs=jobs)
    known = [e for e in folder.entries if e.name in truths and _has_rate(truths[e.name])]
    if not known:
        raise BadInput(
            f"{path}: no truth in it has a failure rate strictly between 0 and 1; give one with "
            "planted questions"
        )
    return [_subject(entry, entry_truth(entry)) for entry in known]


def calibrate(
    subjects: Sequence[Subject],
    effort: Effort,
    names: Sequence[str],
    folder: Path,
    jobs: Jobs,
    watcher: Watcher | None = None,
) -> Calibration:
    """Measure what is not known yet, and write the table and the document into the folder."""
    begun = time.perf_counter()
    used = tuple(analyser.name for analyser in chosen(names))
    head: dict[str, Any] = {
        "assay": __version__,
        "effort": asdict(effort),
        "analysers": {
            a.name: {"answer": a.answer, "promise": a.promise, "holds": a.holds}
            for a in chosen(used)
        },
        "questions": [subject.document for subject in subjects],
    }
    made_folder(folder)
    tasks = [MeasureTask(subject, effort, used) for subject in subjects]
    with row_journal(folder / PROGRESS, f"{folder}: {_BUSY}") as journal:
        known = _known(journal, head)
        found = _measured(tasks, known, jobs, watcher or Watcher(), journal)
        rows = tuple(row for subject in subjects for row in found[subject.name])
        seconds = time.perf_counter() - begun
        made = Calibration(head, rows, len(known), seconds)
        write_calibration(folder, made)
    return made


def measure_task(task: MeasureTask) -> list[Measured]:
    """Every analyser on one question (in a worker)."""
    question = known_question(task.subject, task.effort)
    found = [analyser.measure(question, task.effort) for analyser in chosen(task.analysers)]
    return [row for rows in found for row in rows]


def known_question(subject: Subject, effort: Effort) -> KnownQuestion:
    """The question as analysers take it (in a worker)."""
    import torch

    from assay.analyse.asked import only_case
    from assay.question.asked import read_question

    torch.set_num_threads(1)  # the order of summation must not depend on the machine's load
    network, specification = read_question(subject.onnx, subject.vnnlib)
    return KnownQuestion(
        subject.name,
        subject.kind,
        network,
        only_case(specification.cases, subject.vnnlib),
        Fraction(subject.lower),
        Fraction(subject.upper),
        effort.seed,
    )


def _has_rate(truth: Truth) -> bool:
    return truth.violation_probability is not None


def _subject(entry: FolderEntry, truth: Truth) -> Subject:
    from assay.question.network import load_file

    said = truth.violation_probability or {}
    lower, upper = said.get("exact") or said["lower"], said.get("exact") or said["upper"]
    kind = str(truth.parameters.get("kind", truth.family))
    sha256 = truth.onnx_sha256, truth.vnnlib_sha256
    inputs = load_file(entry.onnx).inputs
    return Subject(entry.name, kind, inputs, entry.onnx, entry.vnnlib, lower, upper, sha256)


def _known(journal: RowJournal, head: Mapping[str, Any]) -> dict[str, list[Measured]]:
    # What is measured belongs to the schema: rows of another one are not mixed with these.
    wanted = json.loads(json.dumps({**head, "schema": SCHEMA}))

    def other(before: Line) -> str:
        different = [k for k in sorted({*wanted, *before}) if wanted.get(k) != before.get(k)]
        return (
            f"a calibration with another {', '.join(different)}; choose another folder, or move "
            "this one away"
        )

    journal.resume(wanted, mark="effort", command="assay calibrate", other=other)
    found: dict[str, list[Measured]] = {}
    for line in journal.rows():
        try:
            found[line["question"]] = [measured_row(row) for row in line["rows"]]
        except (KeyError, TypeError):
            continue
    return found


def _measured(
    tasks: Sequence[MeasureTask],
    known: Mapping[str, list[Measured]],
    jobs: Jobs,
    watcher: Watcher,
    journal: RowJournal,
) -> dict[str, list[Measured]]:
    found = dict(known)
    watcher.begin(len(tasks), len(found))
    missing = [task for task in tasks if task.subject.name not in found]
    work: Work[MeasureTask, list[Measured]] = Work(
        measure_task, READS, lambda task: task.subject.files
    )
    outcomes = outcomes_of(work, missing, jobs, watcher, lambda task: task.subject.name)
    with closing(outcomes):
        for outcome in outcomes:
            name = outcome.item.subject.name
            found[name] = outcome.required(name)
            journal.append({"question": name, "rows": [asdict(row) for row in found[name]]})
            watcher.finished(name, outcome.seconds)
    return found
