"""Put a verifier through the exam, in the sandbox, as in any run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from assay.engine.item_folders import item_folders
from assay.errors import BadInput
from assay.judge.conformance.questions import ExamQuestion, exam
from assay.judge.execute import Task, execute
from assay.judge.results import Result
from assay.judge.task import Limits, Question
from assay.judge.verifier import Verifier

Mark = Literal["passes", "no answer", "fails"]
_ORDERLY = ("answered", "refused", "unsupported", "timeout")
_VALID = ("exact", "float32 only", "within tolerance only")


@dataclass(frozen=True)
class Marked:
    """How the verifier did on one question, and why in one clause."""

    question: str
    expected: str
    mark: Mark
    reason: str
    result: Result


def check_verifier(verifier: Verifier, memory_mb: float = 4096.0) -> Iterator[Marked]:
    """The marks one by one; nothing of a task stays on disk."""
    version = verifier.version()
    if version is None:
        raise BadInput(
            f"verifier {verifier.name!r} is not installed; get it with: {verifier.install_hint}"
        )
    with item_folders() as base:
        for number, question in enumerate(exam()):
            folder = base / str(number)
            folder.mkdir()
            onnx, text = folder / f"exam{number}.onnx", folder / f"exam{number}.vnnlib"
            onnx.write_bytes(question.onnx)
            text.write_bytes(question.vnnlib)
            task = Task(Question(question.name, onnx, text, question.seconds), verifier.name, 0)
            limits = Limits(question.seconds, memory_mb)
            done = execute(task, verifier, version, folder / "task", limits)
            yield mark(question, done.result)


def mark(question: ExamQuestion, result: Result) -> Marked:
    """A wrong or useless answer fails; having none is allowed, and said."""
    given, reason = _mark(question, result)
    return Marked(question.name, question.truth or "no verdict", given, reason, result)


def _mark(question: ExamQuestion, result: Result) -> tuple[Mark, str]:
    if question.truth is None:
        if result.counts and result.verdict != "unknown":
            return "fails", f"says {result.verdict} of what is not a question"
        # There is no right way to meet such a file; all that counts is that no verdict is given.
        end = f"{result.ending}: {result.detail}" if result.detail else result.ending
        return "passes", end if result.ending in _ORDERLY else f"{end} (allowed here)"
    if result.ending == "answered" and result.verdict == "unknown":
        return "no answer", "unknown"
    if result.ending in ("timeout", "unsupported", "refused"):
        return "no answer", result.detail or result.ending
    if result.ending != "answered":
        return "fails", f"{result.ending}: {result.detail}" if result.detail else result.ending
    if result.verdict != question.truth:
        witness = f", witness: {result.witness_class}" if result.witness_class else ""
        return "fails", f"says {result.verdict}{witness}"
    if result.verdict == "violated" and result.witness_class not in _VALID:
        return "fails", f"its witness: {result.witness_class}"
    return "passes", f"witness: {result.witness_class}" if result.witness_class else "proved"
