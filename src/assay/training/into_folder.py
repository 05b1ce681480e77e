"""Train networks into a folder: the networks, the questions about them, how it went.

networks/NAME.onnx, NAME.json   each network with its examples
violated/                       a benchmark: the counterexamples that the last attack of the
                                training did not find, proved; attack.csv, what the battery found
regular/                        questions about regular examples, whose answer nobody knows
training.json                   what was trained, and what the paper's Table 2 counts
training.checkpoint             while the work is not finished
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import assay
from assay.bounds.one_thread import one_thread
from assay.errors import BadInput
from assay.store.file_lock import locked
from assay.store.whole_file import unfinished, write_whole, writing
from assay.training.battery import Battery, still_to_run, survivors
from assay.training.folder_parts import write_networks, write_regular, write_violated
from assay.truth.training.architectures import TINY
from assay.truth.training.look import Look
from assay.truth.training.memory import needed_bytes
from assay.truth.training.run import Progress, Report, counted, train
from assay.truth.training.settings import Schedule, Setting
from assay.truth.training.standing import Standing

SUMMARY = "training.json"
CHECKPOINT = "training.checkpoint"
_LOCK = ".training.lock"
_WRITTEN_LAST = ("networks", "violated", "regular")


@dataclass(frozen=True)
class Strength:
    """The attack that a counterexample must survive in the end; the paper has 1000 and 5000."""

    restarts: int
    steps: int


@dataclass(frozen=True)
class TrainedNetwork:
    name: str
    setting: Setting
    epoch: int
    correct: int
    planted: int
    hidden: int
    regular_correct: int
    regular_unbroken: int
    proved: int
    """Instances in violated/: hidden, and wrong beyond rounding."""
    survived: int | None = None
    """How many of those the battery of `assay attack` did not find either; None: not run."""


def train_into(
    folder: Path,
    schedule: Schedule,
    settings: Sequence[Setting],
    strength: Strength,
    device: str,
    report: Report | None = None,
    battery: Battery | None = None,
) -> list[TrainedNetwork]:
    """Train, or go on with, all settings together, and write what became of them.

    With a `battery` the counterexamples are put to that of `assay attack` in the end.
    """
    _refuse_too_large(schedule, settings, device)
    plan = {
        "schedule": asdict(schedule),
        "settings": [asdict(setting) for setting in settings],
        "strength": asdict(strength),
    }
    with _held(folder):
        if not _finished(folder, plan):
            small = device == "cpu" and schedule.architecture in TINY
            with one_thread() if small else nullcontext():
                _train(folder, schedule, settings, strength, device, plan, report)
        summary = _summary(folder)
        rows = _rows(summary)
        if battery is None or not any(row.proved for row in rows):
            return rows
        if still_to_run(summary.get("battery")):
            rows = _put_to(battery, folder, summary, rows)
        return rows


def _put_to(
    battery: Battery, folder: Path, summary: dict[str, Any], rows: Sequence[TrainedNetwork]
) -> list[TrainedNetwork]:
    names = [row.name for row in rows]
    found = survivors(folder / "violated", folder / "networks", names, battery)
    rows = [replace(row, survived=found.counts[row.name]) for row in rows]
    _write_summary(folder, {**summary, "battery": found.facts}, rows)
    return list(rows)


def _refuse_too_large(schedule: Schedule, settings: Sequence[Setting], device: str) -> None:
    import torch

    needed = needed_bytes(schedule, settings)
    if device == "cpu":
        there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    else:
        there = torch.cuda.mem_get_info()[1]
    if needed > there:
        raise BadInput(
            f"this training takes about {needed / 2**30:.0f} GiB of memory and there are "
            f"{there / 2**30:.0f}; lower --window, --restarts or --examples, or train fewer "
            "networks at once"
        )


def _train(
    folder: Path,
    schedule: Schedule,
    settings: Sequence[Setting],
    strength: Strength,
    device: str,
    plan: dict[str, Any],
    report: Report | None,
) -> None:
    import torch

    where, checkpoint = torch.device(device), folder / CHECKPOINT
    latest: list[Progress] = []

    def heard(progress: Progress) -> None:
        latest[:] = [progress]
        if report is not None:
            report(progress)

    def attacked(share: float) -> None:
        heard(replace(latest[0], last_attack=share))

    with writing(folder):
        standings = train(schedule, settings, where, checkpoint=checkpoint, report=heard)
    attacked(0.0)
    look = counted(schedule, standings, where, strength.restarts, strength.steps, attacked)
    networks = [
        standing.recorded(
            f"{schedule.architecture}-{place}", schedule, look.places[place], asdict(strength)
        )
        for place, standing in enumerate(standings)
    ]
    with writing(folder):
        for part in _WRITTEN_LAST:  # what a command that was stopped while writing left
            shutil.rmtree(folder / part, ignore_errors=True)
        write_networks(folder / "networks", networks)
        write_regular(folder / "regular", networks)
    proved = write_violated(folder / "violated", networks)
    rows = [
        _row(trained.name, standing, look, place, proved[place])
        for place, (trained, standing) in enumerate(zip(networks, standings, strict=True))
    ]
    summary = {
        **plan,
        "assay": assay.__version__,
        "torch": torch.__version__,
        "device": torch.cuda.get_device_name(where) if where.type == "cuda" else "cpu",
        "seconds": round(latest[0].seconds, 1),
    }
    _write_summary(folder, summary, rows)
    with writing(folder):
        checkpoint.unlink(missing_ok=True)


def _write_summary(folder: Path, summary: dict[str, Any], rows: Sequence[TrainedNetwork]) -> None:
    document = {**summary, "networks": [asdict(row) for row in rows]}
    write_whole(folder / SUMMARY, json.dumps(document, indent=1).encode() + b"\n")


@contextmanager
def _held(folder: Path) -> Iterator[None]:
    """Hold a folder for one training; a new one that nothing came of is removed again."""
    if folder.exists() and not folder.is_dir():
        raise BadInput(f"{folder}: is a file; choose a folder to train into")
    new = not folder.exists()
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        busy = "another training is writing here; wait for it or choose another folder"
        lock = locked(folder / _LOCK, f"{folder}: {busy}")
    try:
        yield
    finally:
        (folder / _LOCK).unlink(missing_ok=True)
        os.close(lock)
        if new and not any(folder.iterdir()):
            folder.rmdir()


def _finished(folder: Path, plan: dict[str, Any]) -> bool:
    """Whether this very training is there; BadInput for a folder that holds anything else."""
    if not (folder / SUMMARY).exists():
        ours = {_LOCK, unfinished(folder / CHECKPOINT).name}
        if not (folder / CHECKPOINT).exists() and {p.name for p in folder.iterdir()} - ours:
            raise BadInput(f"{folder}: is not empty; choose another folder")
        return False
    try:
        summary = _summary(folder)
    except BadInput:
        if (folder / CHECKPOINT).exists():  # all that the summary says can be written again
            return False
        raise
    if {key: summary[key] for key in plan} != json.loads(json.dumps(plan)):
        raise BadInput(f"{folder}: holds another training; choose another folder")
    return True


def _summary(folder: Path) -> dict[str, Any]:
    path = folder / SUMMARY
    try:
        summary = json.loads(path.read_text(encoding="utf-8"))
        missing = [key for key in ("schedule", "settings", "strength") if key not in summary]
        if missing:
            raise KeyError(missing[0])
        _rows(summary)
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise BadInput(f"{path}: cannot be read ({error}); choose another folder") from None
    return dict(summary)


def _rows(summary: dict[str, Any]) -> list[TrainedNetwork]:
    return [
        TrainedNetwork(**{**row, "setting": Setting(**row["setting"])})
        for row in summary["networks"]
    ]


def _row(name: str, standing: Standing, look: Look, place: int, proved: int) -> TrainedNetwork:
    return TrainedNetwork(
        name,
        standing.setting,
        standing.epoch,
        look.correct[place],
        look.planted[place],
        look.hidden[place],
        look.regular_correct[place],
        look.regular_unbroken[place],
        proved,
    )
