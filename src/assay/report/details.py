"""The bulk of single tasks (command, log, witness, question) as far as a page can hold it.

Findings come first, then broken tasks, then the rest, until the budget is spent; what does not
fit is read by the reader in the file that the page names.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from assay.errors import BadInput, Unsupported
from assay.judge.outcome import Outcome
from assay.judge.results import Result
from assay.question.network import load
from assay.report.material import Material, Task
from assay.report.next_steps import NextSteps
from assay.report.wording import WORST_FIRST
from assay.suite.folder import FolderEntry
from assay.suite.proved_truths import entry_truth
from assay.truth.instance import sha256

LOG_TAIL = 4_000
_COMMAND = 2_000
_WITNESS_NUMBERS = 64
_WITNESS_TEXT = 3_000
_PROPERTY = 3_000
_LARGEST_QUESTION = 2_000_000
_MOST_TASKS = 4_000
_MOST_QUESTIONS = 1_500
_TERMINAL_CODES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f]")
_WRONG_ANSWERS = 5
_CHECKED = (
    ("float32_margin", "margin in ONNX Runtime"),
    ("outside", "outside of the box by"),
    ("float32_outside", "its float32 numbers outside by"),
)
_BROKEN: tuple[Outcome, ...] = ("crashed", "garbled", "out-of-memory")
_MOST_INTERESTING = sorted(
    WORST_FIRST, key=lambda o: (WORST_FIRST.index(o) >= _WRONG_ANSWERS, o not in _BROKEN)
)


@dataclass(frozen=True)
class Details:
    """By the number of the task, and by the name of the instance."""

    tasks: Mapping[int, Mapping[str, Any]]
    questions: Mapping[str, Mapping[str, Any]]


def details(
    material: Material, budget: int, steps: Mapping[tuple[str, str], NextSteps] | None = None
) -> Details:
    """At most about `budget` characters, spent on what deserves a look first."""
    tasks: dict[int, dict[str, Any]] = {}
    questions: dict[str, Mapping[str, Any]] = {}
    left = budget
    rank = {outcome: number for number, outcome in enumerate(_MOST_INTERESTING)}
    order = sorted(
        range(len(material.tasks)), key=lambda n: (rank[material.tasks[n].settled.outcome], n)
    )
    for number in order[:_MOST_TASKS]:
        if left <= 0:
            break
        task = material.tasks[number]
        tasks[number] = _of_task(task)
        if steps and task.key in steps:
            tasks[number] |= {"next": steps[task.key].document()}
        left -= len(json.dumps(tasks[number]))
        entry = material.entries.get(task.settled.instance)
        if entry and entry.name not in questions and len(questions) < _MOST_QUESTIONS:
            questions[entry.name] = _of_question(entry, task.settled.result)
            left -= len(json.dumps(questions[entry.name]))
    return Details(tasks, questions)


def _of_task(task: Task) -> dict[str, Any]:
    result = task.full()
    found: dict[str, Any] = {}
    if result.command:
        found["command"] = _shortened(shlex.join(result.command), _COMMAND)
    if result.witness is not None:
        found["witness"] = numbers(result.witness)
    if result.witness_check is not None:
        found["check"] = checked_numbers(result.witness_check)
    log = log_file(task)
    if log is not None:
        found["log"], size = _tail(log)
        if size > LOG_TAIL:
            found["logBytes"] = size
    return found


def log_file(task: Task) -> Path | None:
    """The log, if there is one inside the folder of the run."""
    name = task.settled.result.log
    if not name:
        return None
    try:
        root = task.source.run.resolve()
        path = (root / name).resolve()
        return path if path.is_relative_to(root) and path.is_file() else None
    except (OSError, ValueError, RuntimeError):
        return None


def _tail(path: Path) -> tuple[str, int]:
    try:
        with path.open("rb") as stream:
            size = stream.seek(0, 2)
            stream.seek(max(0, size - LOG_TAIL))
            data = stream.read(LOG_TAIL)
    except OSError as error:
        return f"(cannot be read: {error.strerror})", 0
    return _TERMINAL_CODES.sub("", data.decode("utf-8", "replace").replace("\r\n", "\n")), size


def numbers(witness: Sequence[str]) -> str:
    """The first numbers of a point, and how many more there are."""
    shown = list(witness[:_WITNESS_NUMBERS])
    more = len(witness) - len(shown)
    tail = f"  … and {more:,} more" if more else ""
    return _shortened("  ".join(shown), _WITNESS_TEXT) + tail


def checked_numbers(check: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What validating a witness computed, as labels and texts; nothing that is not there."""
    rows: list[tuple[str, str]] = []
    margin = check.get("margin")
    if isinstance(margin, list) and len(margin) == 2 and all(isinstance(m, str) for m in margin):
        low, high = (_about(end) for end in margin)
        rows.append(("margin in real arithmetic", low if low == high else f"{low} to {high}"))
    for key, label in _CHECKED:
        if isinstance(check.get(key), str):
            rows.append((label, _about(check[key])))
    if check.get("detail"):
        rows.append(("note", _shortened(str(check["detail"]), _WITNESS_TEXT)))
    return rows


def _about(text: str) -> str:
    """An exact number in six digits; a text that is none stays as it is."""
    try:
        value = Fraction(text)
    except (ValueError, ZeroDivisionError):
        return _shortened(text, 80)
    try:
        return f"{float(value):.6g}"
    except OverflowError:
        return "beyond 1e308"


def _of_question(entry: FolderEntry, result: Result) -> dict[str, Any]:
    found: dict[str, Any] = {"property": _property(entry.vnnlib, result.vnnlib_sha256)}
    network = _network(entry.onnx)
    if network:
        found["network"] = network
    if entry.truth is not None:
        truth = entry_truth(entry)
        found["seed"] = truth.seed
        if truth.twin:
            found["twin"] = truth.twin
        if truth.witness is not None:
            found["truthWitness"] = numbers(truth.witness)
        if truth.parameters:
            found["parameters"] = _shortened(_pairs(truth.parameters), _PROPERTY)
    return found


def _property(path: Path, expected: str) -> str:
    """The assertions of a VNN-LIB file: the first and the last of them if it is long."""
    try:
        if path.stat().st_size > _LARGEST_QUESTION:
            return "(too large to show here)"
        data = path.read_bytes()
    except OSError as error:
        return f"(cannot be read: {error.strerror})"
    if sha256(data) != expected:
        return "(the file has changed since the run)"
    lines = data.decode("utf-8", "replace").splitlines()
    kept = [line for line in lines if line.strip() and not line.lstrip().startswith("(declare-")]
    return _shortened("\n".join(kept), _PROPERTY)


def _network(path: Path) -> str:
    """Size and operators in a line; empty where the file is large or not ours to read."""
    try:
        if path.stat().st_size > _LARGEST_QUESTION:
            return ""
        network = load(path.read_bytes(), str(path))
    except (BadInput, Unsupported, OSError):
        return ""
    count = sum(array.size for array in network.initializers.values())
    operators = ", ".join(sorted(network.operators))
    return (
        f"{network.inputs:,} inputs, {network.outputs:,} outputs, {count:,} constants; {operators}"
    )


def _pairs(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} = {value}" for key, value in sorted(values.items()))


def margin_text(margin: Fraction) -> str:
    """A certified bound as a short decimal; exact where that is short too."""
    exact = str(margin)
    if len(exact) <= 12:
        return exact
    try:
        rounded = float(margin)
    except OverflowError:
        rounded = 0.0
    if rounded == 0.0:
        return "positive" if margin > 0 else "negative"
    return f"{rounded:.6g}"


def _shortened(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}\n… {len(text) - 2 * half:,} characters left out …\n{text[-half:]}"
