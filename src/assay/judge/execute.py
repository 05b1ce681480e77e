"""One task from question to result: run the tool in the sandbox, read its answer, validate it."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from assay.errors import BadInput, Unsupported
from assay.judge.answers import says_timeout
from assay.judge.operators_used import operators_used
from assay.judge.results import Result
from assay.judge.sandbox import Outcome, run_sandboxed
from assay.judge.task import Answer, Ending, Limits, Question
from assay.judge.verifier import Garbled, Refused, Verifier
from assay.judge.witness import classify_files
from assay.question.model_file import question_sha256

_LIMITS: dict[str, tuple[Ending, str]] = {
    "wall": ("timeout", "the wall clock limit"),
    "cpu": ("timeout", "the CPU time limit"),
    "memory": ("out-of-memory", "the memory limit"),
    "output": ("crashed", "the output limit"),
    "processes": ("crashed", "the limit on processes"),
}
_LOG_BYTES = 64 * 1024
_LINE_CHARS = 200


@dataclass(frozen=True)
class Task:
    """One question for one verifier, once."""

    question: Question
    verifier: str
    repeat: int

    @property
    def key(self) -> tuple[str, str, int]:
        return self.question.name, self.verifier, self.repeat


@dataclass(frozen=True)
class Executed:
    result: Result
    log: bytes


@dataclass(frozen=True)
class _Reading:
    """What the result file amounts to."""

    ending: Ending
    answer: Answer | None = None
    detail: str = ""


def execute(
    task: Task,
    verifier: Verifier,
    version: str,
    folder: Path,
    limits: Limits,
    *,
    cores: Sequence[int] | None = None,
    stop: threading.Event | None = None,
) -> Executed:
    """Run the task in `folder`, which nothing else uses."""
    missing = _missing_operators(task.question, verifier)
    if missing:
        detail = f"{verifier.name} does not take the operator {missing}"
        return Executed(_result(task, version, _Reading("unsupported", None, detail)), b"")
    invocation = verifier.invoke(task.question, folder)
    outcome = run_sandboxed(invocation, folder, limits, cores=cores, stop=stop)
    reading = _read(outcome, verifier)
    result = _result(task, version, reading, outcome, invocation.command)
    return Executed(result, _log(outcome))


def crashed(task: Task, version: str, reason: str) -> Executed:
    """The outcome of a task that took down whoever ran it, so that nothing is known but that."""
    return Executed(_result(task, version, _Reading("crashed", None, reason)), b"")


def _missing_operators(question: Question, verifier: Verifier) -> str | None:
    """The first operator that the verifier is known not to take."""
    if verifier.operators is None:
        return None
    used = _operators(question.onnx, question.onnx.stat().st_mtime_ns)
    return next(iter(sorted(used - verifier.operators)), None)


# A question is asked once a verifier and repeat; large networks take seconds to read and hash.
@lru_cache(maxsize=4096)
def _operators(onnx: Path, _changed_ns: int) -> frozenset[str]:
    return operators_used(onnx)


@lru_cache(maxsize=4096)
def _hash(file: Path, _changed_ns: int) -> str:
    return question_sha256(file)


def _read(outcome: Outcome, verifier: Verifier) -> _Reading:
    """The ending, and the verdict even where the ending says that it does not count."""
    text = None if outcome.result is None else outcome.result.decode("utf-8", "replace")
    if outcome.reason in _LIMITS:
        ending, what = _LIMITS[outcome.reason]
        answer = _early_answer(outcome, verifier, text)
        return _Reading(ending, answer, _joined(f"met {what}", outcome.result_problem))
    if outcome.reason == "signalled" or outcome.exit_code:
        end = f"signal {outcome.signal}" if outcome.signal else f"exit code {outcome.exit_code}"
        detail = _joined(f"ended by {end}", outcome.result_problem, _last_complaint(outcome))
        return _Reading("crashed", _early_answer(outcome, verifier, text), detail)
    if text is None:
        return _Reading("garbled", None, outcome.result_problem or "it left no result file")
    if says_timeout(text):
        return _Reading("timeout", None, "the tool says that it ran out of time")
    try:
        return _Reading("answered", verifier.read(text))
    except Refused as reason:
        return _Reading("refused", None, _joined(str(reason), _last_complaint(outcome)))
    except Garbled as reason:
        return _Reading("garbled", None, str(reason))


def _joined(*clauses: str | None) -> str:
    return "; ".join(clause for clause in clauses if clause)


def _last_complaint(outcome: Outcome) -> str | None:
    """The last line that the tool wrote to stderr, shortened and made harmless to print."""
    lines = _tail(outcome.stderr).decode("utf-8", "replace").splitlines()
    for line in reversed(lines):
        printable = "".join(c if c.isprintable() else " " for c in line)
        if printable.strip():
            words = " ".join(printable.split())
            shown = words if len(words) <= _LINE_CHARS else words[: _LINE_CHARS - 1] + "…"
            return f"stderr: {shown}"
    return None


def _early_answer(outcome: Outcome, verifier: Verifier, text: str | None) -> Answer | None:
    """A verdict that was complete before the end; it is kept, but does not count."""
    if text is None or not outcome.result_in_time:
        return None
    try:
        return verifier.read(text)
    except (Refused, Garbled):
        return None


def _result(
    task: Task,
    version: str,
    reading: _Reading,
    outcome: Outcome | None = None,
    command: tuple[str, ...] = (),
) -> Result:
    question, answer = task.question, reading.answer
    report, detail = None, reading.detail
    if answer is not None and answer.verdict == "violated":
        try:
            report = classify_files(question.onnx, question.vnnlib, answer.witness)
        except (BadInput, Unsupported) as problem:
            # The question is one that only the tool can read.
            detail = f"its witness cannot be judged: {problem}"
    return Result(
        instance=question.name,
        verifier=task.verifier,
        version=version,
        verdict=None if answer is None else answer.verdict,
        ending=reading.ending,
        wall_s=round(outcome.wall_s, 4) if outcome else 0.0,
        cpu_s=round(outcome.cpu_s, 4) if outcome else 0.0,
        memory_mb=round(outcome.memory_mb, 2) if outcome else 0.0,
        repeat=task.repeat,
        onnx_sha256=_hash(question.onnx, question.onnx.stat().st_mtime_ns),
        vnnlib_sha256=_hash(question.vnnlib, question.vnnlib.stat().st_mtime_ns),
        command=command,
        detail=detail,
        witness=None if answer is None else answer.witness,
        witness_class=None if report is None else report.witness_class,
        witness_check=None if report is None else report.document(),
    )


def _log(outcome: Outcome) -> bytes:
    """The ends of stdout and stderr, bounded."""
    streams = (("stdout", outcome.stdout), ("stderr", outcome.stderr))
    return b"".join(f"--- {name}\n".encode() + _tail(path) + b"\n" for name, path in streams)


def _tail(path: Path | None) -> bytes:
    return path.read_bytes()[-_LOG_BYTES:] if path is not None and path.is_file() else b""
