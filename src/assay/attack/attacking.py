"""The battery on every question of a benchmark: in child processes, resumable.

Finished rows go to `.attack.jsonl` as they come; `attack.csv` appears when all rows are known, and
`attack.json` beside it says with what budget. A robust question that is broken in exact arithmetic
has a wrong label, which stops everything.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import assay
from assay.attack.table import (
    ATTACK_FILE,
    NO,
    SETTINGS_FILE,
    START,
    YES,
    AttackRow,
    read_settings,
    row_from,
    row_of,
    written,
)
from assay.engine.processes import Jobs
from assay.engine.work import Watcher
from assay.errors import AssayError, BadInput, Unsupported
from assay.store.file_hash import file_sha256
from assay.suite.folder import BenchmarkFolder, instance_name
from assay.suite.instance_table import (
    INTERNAL,
    InstanceTable,
    defect_note,
    hashes,
    refuse_foreign,
)
from assay.suite.proved_truths import proved_truth, proved_truths

if TYPE_CHECKING:
    from assay.attack.battery import Budget, Result
    from assay.question.runnable import RunOptions

PROGRESS_FILE = ".attack.jsonl"
_SETTINGS_START = '{\n "assay"'
"""How our own attack.json begins."""


@dataclass(frozen=True)
class AttackTask:
    """One question to attack; `truth` is what is known about its answer."""

    name: str
    onnx: Path
    vnnlib: Path
    truth: Path | None
    budget: Budget
    device: str
    options: RunOptions | None = None


@dataclass(frozen=True)
class Attacked:
    """The rows in the order of the questions, how many were known before, and what was run."""

    rows: Sequence[AttackRow]
    already: int
    settings: Mapping[str, Any]
    failed: tuple[AttackRow, ...] = ()


def attack_folder(
    path: Path,
    budget: Budget,
    device: str,
    jobs: Jobs,
    watcher: Watcher | None = None,
    *,
    force: bool = False,
    options: RunOptions | None = None,
) -> Attacked:
    """Attack every instance of a benchmark folder; writes `attack.csv` and `attack.json`.

    A part of the battery replaces a table of all of it only by `force`.
    """
    folder = BenchmarkFolder.open(path)
    refuse_foreign(path / ATTACK_FILE, START, "table of attacks")
    refuse_foreign(path / SETTINGS_FILE, _SETTINGS_START, "record of attacks")
    if not (budget.whole or force):
        _refuse_to_replace_all(path)
    proved_truths(folder, jobs=jobs)
    tasks = [
        AttackTask(e.name, e.onnx, e.vnnlib, e.truth, budget, device, options)
        for e in folder.entries
    ]
    settings = settings_of(budget, device, options)
    head = {"assay": assay.__version__, "settings": settings}
    progress = path / PROGRESS_FILE
    with TABLE.made(progress, head, "attacking", tasks, jobs, watcher or Watcher()) as made:
        names = [attack.name for attack in budget.chosen]
        document = {"assay": assay.__version__, **settings, "counts": _counts(made.rows)}
        beside = {path / SETTINGS_FILE: json.dumps(document, indent=1) + "\n"}
        made.write(path / ATTACK_FILE, written(made.rows, names), beside)
        return Attacked(made.rows, made.already, settings, made.failed)


def _refuse_to_replace_all(path: Path) -> None:
    if not ((path / SETTINGS_FILE).exists() and (path / ATTACK_FILE).exists()):
        return
    settings = read_settings(path)
    if settings is None or settings["whole"]:
        raise BadInput(
            f"{path / ATTACK_FILE}: is of the whole battery, and this would be of a part of it; "
            "give --force to replace it, or move it away"
        )


def attack_question(
    onnx: Path, vnnlib: Path, budget: Budget, device: str, options: RunOptions | None = None
) -> Attacked:
    """Attack one question; its row is only returned. A truth in its folder counts as well."""
    name = instance_name(onnx, vnnlib)
    truth = vnnlib.absolute().parent.parent / "truth" / f"{name}.json"
    known = truth if truth.is_file() else None
    task = AttackTask(name, onnx, vnnlib, known, budget, device, options)
    row = TABLE.row(task)
    failed = () if row.status == "ok" else (row,)
    return Attacked([row], 0, settings_of(budget, device, options), failed)


def settings_of(budget: Budget, device: str, options: RunOptions | None = None) -> dict[str, Any]:
    """The budget in full, and the versions of what was run."""
    from assay.attack.unit_images import PACKAGE, installed

    efforts = {attack.name: budget.effort(attack) for attack in budget.chosen}
    return {
        "strength": budget.strength,
        "seed": budget.seed,
        "device": device,
        "whole": budget.whole,
        "attacks": {name: asdict(effort) for name, effort in efforts.items()},
        "left_out": {a.name: note for a in budget.chosen if (note := a.missing())},
        "versions": {"torch": metadata.version("torch"), PACKAGE: installed()},
        **({"model_output": options.output} if options and options.output else {}),
        **(
            {"custom_ops": {str(path): file_sha256(path) for path in options.libraries}}
            if options and options.libraries
            else {}
        ),
    }


def attack_task(task: AttackTask) -> AttackRow:
    """Attack one question (in a worker); a defect of ours costs its row, not the others."""
    import torch

    from assay.attack.battery import NO_GRADIENTS, run
    from assay.question.asked import read_specification, refuse_misfits
    from assay.question.sampled_model import open_for_sampling

    torch.set_num_threads(1)  # the order of summation must not depend on the machine's load
    sha256 = hashes((task.onnx, task.vnnlib, task.truth))
    files = task.onnx, task.vnnlib
    truth = None if task.truth is None else proved_truth(task.name, *files, task.truth, sha256[:2])
    specification = read_specification(task.vnnlib)
    inputs = specification.cases[0].box.dimension
    network = open_for_sampling(task.onnx, (inputs,), task.options)
    refuse_misfits(network, specification.cases)
    try:
        results = run(network, specification, task.budget, task.device)
    except AssayError:
        raise
    except Exception as error:
        return _failed(task.name, defect_note(error))
    defects = [result.defect for result in results if result.defect]
    if defects and all(result.defect or result.note for result in results):
        return _failed(task.name, f"{INTERNAL} ({defects[0]})")
    if truth is not None and truth.answer == "robust":
        _hold_to_label(network.place, results)
    unrun = [result for result in results if result.note.startswith(NO_GRADIENTS)]
    whole = task.budget.whole and not unrun
    row = row_of(task.name, "" if truth is None else truth.answer, results, whole)
    attacks = "1 attack" if len(unrun) == 1 else f"{len(unrun)} attacks"
    limits = f"{attacks} did not run: {unrun[0].note}" if unrun else ""
    return replace(
        row,
        note="; ".join(filter(None, (row.note, limits))),
        family="" if truth is None else truth.family,
        kind="" if truth is None else str(truth.parameters.get("kind", "")),
        onnx_sha256=sha256[0],
        vnnlib_sha256=sha256[1],
        truth_sha256=sha256[2],
    )


def _hold_to_label(place: str, results: Sequence[Result]) -> None:
    """WrongLabel where a violation was found, Unsupported where nobody can tell."""
    from assay.difficulty.label import refuted

    for result in results:
        if result.found is not None:
            point, margin = result.found.point, result.found.margin
            raise refuted(place, "is violated", point, margin, f"the attack {result.attack}")
    for result in results:
        if result.undecided:
            raise Unsupported(
                f"{place}: said to be robust, seems violated, and exact arithmetic cannot tell "
                f"({result.attack}: {result.undecided}); look at this instance by hand"
            )


def _failed(name: str, note: str) -> AttackRow:
    return AttackRow(name, "failed", note=note)


def _line(row: AttackRow) -> tuple[tuple[str, ...], dict[str, Any]]:
    return (row.onnx_sha256, row.vnnlib_sha256, row.truth_sha256), asdict(row)


TABLE = InstanceTable(
    attack_task,
    ("torch", "assay.attack.battery", "assay.question.sampled_model"),
    read=row_from,
    line=_line,
    failed=_failed,
    note=lambda row: row.note if row.status != "ok" else "",
)


def _counts(rows: Iterable[AttackRow]) -> dict[str, dict[str, int]]:
    """By family and kind: how many are robust, hidden, found, and neither."""
    found: dict[str, Counter[str]] = {}
    for row in rows:
        word = {YES: "hidden", NO: "found"}.get(row.hidden, row.answer or "unknown")
        found.setdefault(row.group, Counter())[word] += 1
    return {group: dict(counts) for group, counts in found.items()}
