"""The tasks as columns of small numbers: 100,000 rows in a few megabytes of JSON."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, get_args
from urllib.parse import quote

from assay.judge.run_folder import LOGS
from assay.judge.score_table import GROUPS
from assay.judge.task import Ending, Verdict
from assay.report.details import Details, log_file, margin_text
from assay.report.glossary import GLOSSARY
from assay.report.material import Material, Task
from assay.report.profile import read_profiles
from assay.report.wording import OUTCOME_MEANING, WITNESS_MEANING, WORST_FIRST

_ENDINGS = get_args(Ending)
_VERDICTS = ("", *get_args(Verdict))
_ANSWERS = ("", "robust", "violated")
_WITNESSES = ("", *WITNESS_MEANING)
_LONGEST_DETAIL = 500
Word = TypeVar("Word")


def page_data(
    material: Material, details: Details, checked: Mapping[str, str], target: Path
) -> dict[str, Any]:
    """Everything that the script of the page needs, as plain JSON values.

    Columns under `task` have one value a task, those under `instance` one an instance, or are a
    single value that stands for all; words are numbers into the lists under `words`.
    """
    names = list(dict.fromkeys(task.settled.instance for task in material.tasks))
    numbers = _numbered(names)
    families = sorted({task.family for task in material.tasks})
    kinds = sorted({str(truth.certificate["kind"]) for truth in material.truths.values()})
    profiles = read_profiles(material.folder.path)
    words: dict[str, Sequence[str]] = {
        "verifier": material.scores.verifiers,
        "name": [material.tools[name][0] for name in material.scores.verifiers],
        "version": [material.tools[name][1] for name in material.scores.verifiers],
        "family": families,
        "outcome": WORST_FIRST,
        "verdict": _VERDICTS,
        "ending": _ENDINGS,
        "witness": _WITNESSES,
        "answer": _ANSWERS,
        "group": GROUPS,
        "kind": ["", *kinds],
        "profile": profiles.columns,
    }
    return {
        "words": words,
        "meaning": {"outcome": OUTCOME_MEANING, "witness": WITNESS_MEANING, "word": GLOSSARY},
        "task": _folded(_task_columns(material, numbers)),
        "instance": {"name": names, **_folded(_instance_columns(material, names, words))},
        "remarks": {
            number: task.settled.result.detail[:_LONGEST_DETAIL]
            for number, task in enumerate(material.tasks)
            if task.settled.result.detail
        },
        "details": details.tasks,
        "questions": {numbers[name]: found for name, found in details.questions.items()},
        "checked": {numbers[name]: text for name, text in checked.items() if name in numbers},
        "profile": {numbers[n]: row for n, row in profiles.rows.items() if n in numbers},
        "logsElsewhere": {
            number: link(log, target)
            for number, task in enumerate(material.tasks)
            if not _has_usual_name(task) and (log := log_file(task)) is not None
        },
        "runs": [link(run, target) for run in material.runs],
        "runPaths": [str(run) for run in material.runs],
        "benchmark": link(material.folder.path, target),
    }


def script_json(document: Any) -> str:
    """JSON that may stand inside a script element: nothing in it can close the element."""
    text = json.dumps(document, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
    text = text.encode("utf-8", "replace").decode("utf-8")  # half a surrogate pair is no text
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def link(path: Path, target: Path) -> str:
    """A relative address from the page, so that page and run can move together."""
    relative = os.path.relpath(path.resolve(), target.parent.resolve())
    # The leading dot keeps a name such as `javascript:x` from being read as a scheme.
    return "./" + quote(relative.encode("utf-8", "surrogateescape"))


def _task_columns(material: Material, instances: Mapping[str, int]) -> dict[str, list[Any]]:
    verifiers = _numbered(material.scores.verifiers)
    outcomes = _numbered(WORST_FIRST)
    runs = _numbered(material.runs)
    settled = [task.settled for task in material.tasks]
    results = [item.result for item in settled]
    return {
        "verifier": [verifiers[item.verifier] for item in settled],
        "instance": [instances[item.instance] for item in settled],
        "outcome": [outcomes[item.outcome] for item in settled],
        "verdict": [_VERDICTS.index(result.verdict or "") for result in results],
        "ending": [_ENDINGS.index(result.ending) for result in results],
        "witness": [_WITNESSES.index(_witness(task)) for task in material.tasks],
        "wall": [_short(item.wall_s) for item in settled],
        "cpu": [_short(result.cpu_s) for result in results],
        "memory": [_short(result.memory_mb) for result in results],
        "repeat": [result.repeat for result in results],
        "repeats": [item.repeats for item in settled],
        "disagree": [int(item.disagree) for item in settled],
        "run": [runs[task.source.run] for task in material.tasks],
        "log": [int(_has_usual_log(task)) for task in material.tasks],
    }


def _instance_columns(
    material: Material, names: Sequence[str], words: Mapping[str, Sequence[str]]
) -> dict[str, list[Any]]:
    families, kinds = _numbered(words["family"]), _numbered(words["kind"])
    truths = [material.truths.get(name) for name in names]
    other = material.folder.title
    return {
        "family": [families[truth.family if truth else other] for truth in truths],
        "answer": [_ANSWERS.index(truth.answer if truth else "") for truth in truths],
        "group": [GROUPS.index(truth.guard if truth else "no truth") for truth in truths],
        "margin": [margin_text(truth.margin) if truth else "" for truth in truths],
        "kind": [kinds[str(truth.certificate["kind"]) if truth else ""] for truth in truths],
        "limit": [_short(material.limits.get(name, 0.0)) for name in names],
        "onnx": [_file(material, name, "onnx") for name in names],
        "vnnlib": [_file(material, name, "vnnlib") for name in names],
    }


def _file(material: Material, name: str, part: str) -> str | int:
    """The file of a question inside the benchmark; 1 where it is PART/NAME.PART."""
    entry = material.entries.get(name)
    if entry is None:
        return ""
    path = entry.onnx if part == "onnx" else entry.vnnlib
    inside = path.relative_to(material.folder.path).as_posix()
    return 1 if inside == f"{part}/{name}.{part}" else inside


def _witness(task: Task) -> str:
    result = task.settled.result
    return task.settled.witness_label if result.verdict == "violated" else ""


def _has_usual_name(task: Task) -> bool:
    result = task.settled.result
    return result.log == f"{LOGS}/{result.verifier}/{result.instance}.{result.repeat}.log"


def _has_usual_log(task: Task) -> bool:
    path = f"{task.source.run}/{task.settled.result.log}"
    return _has_usual_name(task) and "\0" not in path and os.path.isfile(path)  # noqa: PTH113


def _numbered(words: Iterable[Word]) -> dict[Word, int]:
    return {word: number for number, word in enumerate(words)}


def _folded(columns: Mapping[str, list[Any]]) -> dict[str, Any]:
    """Columns that say the same everywhere become that one value."""
    return {
        key: column[0] if all(value == column[0] for value in column) else column
        for key, column in columns.items()
    }


def _short(value: float) -> float:
    """Four digits, which is more than any clock here deserves."""
    return float(f"{value:.4g}") if value < 10_000 else round(value)
