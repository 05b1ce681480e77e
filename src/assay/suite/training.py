"""Train networks into a folder: the networks, the questions about them, how it went.

networks/NAME.onnx, NAME.json   each network with its examples
violated/                       a benchmark: one instance a hidden counterexample, proved
regular/                        questions about regular examples, whose answer nobody knows
training.json                   what was trained, and what the paper's Table 2 counts
training.checkpoint             while the work is not finished
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import assay
from assay.errors import BadInput
from assay.suite.exchange.listed_files import write_list
from assay.suite.journal import Plan, TaskRecord, open_journal, writing
from assay.suite.listing import document, row, versions
from assay.suite.verified import require_verified
from assay.truth.instance import Instance
from assay.truth.training.questions import FAMILY, question, violated
from assay.truth.training.record import Trained
from assay.truth.training.run import Report, Standing, counted, recorded, train
from assay.truth.training.settings import Schedule, Setting
from assay.truth.training.trainer import Look

SUMMARY = "training.json"
CHECKPOINT = "training.checkpoint"
_TIMEOUT = 100
"""Seconds an instance: the paper's."""


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


def train_into(
    folder: Path,
    schedule: Schedule,
    settings: Sequence[Setting],
    strength: Strength,
    device: str,
    report: Report | None = None,
) -> list[TrainedNetwork]:
    """Train, or go on with, all settings together, and write what became of them."""
    import torch

    plan = {"schedule": asdict(schedule), "settings": [asdict(s) for s in settings]}
    known = _finished(folder, plan)
    if known is not None:
        return known
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    where = torch.device(device)
    begun = time.monotonic()
    checkpoint = folder / CHECKPOINT
    standings = train(schedule, list(settings), where, checkpoint=checkpoint, report=report)
    look = counted(schedule, standings, where, strength.restarts, strength.steps)
    seconds = round(time.monotonic() - begun, 1)
    rows = [
        _row(f"{schedule.architecture}-{place}", standing, look, place)
        for place, standing in enumerate(standings)
    ]
    networks = [
        recorded(r.name, schedule, standing, tuple(look.places[place]), asdict(strength))
        for place, (r, standing) in enumerate(zip(rows, standings, strict=True))
    ]
    _write(folder, networks)
    summary = {
        **plan,
        "assay": assay.__version__,
        "torch": torch.__version__,
        "device": torch.cuda.get_device_name(where) if where.type == "cuda" else "cpu",
        "seconds": seconds,
        "strength": asdict(strength),
        "networks": [asdict(r) for r in rows],
    }
    with writing(folder):
        (folder / SUMMARY).write_text(json.dumps(summary, indent=1) + "\n", encoding="utf-8")
        checkpoint.unlink(missing_ok=True)
    return rows


def _finished(folder: Path, plan: dict[str, Any]) -> list[TrainedNetwork] | None:
    path = folder / SUMMARY
    if not path.exists():
        others = folder.exists() and any(p.name != CHECKPOINT for p in folder.iterdir())
        if others and not (folder / CHECKPOINT).exists():
            raise BadInput(f"{folder}: is not empty; choose another folder")
        return None
    try:
        summary = json.loads(path.read_text(encoding="utf-8"))
        same = {key: summary[key] for key in plan} == json.loads(json.dumps(plan))
        rows = [
            TrainedNetwork(**{**r, "setting": Setting(**r["setting"])}) for r in summary["networks"]
        ]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadInput(f"{path}: cannot be read ({error}); choose another folder") from None
    if not same:
        raise BadInput(f"{folder}: holds another training; choose another folder")
    return rows


def _row(name: str, standing: Standing, look: Look, place: int) -> TrainedNetwork:
    return TrainedNetwork(
        name,
        standing.setting,
        standing.epoch,
        look.correct[place],
        look.planted[place],
        look.hidden[place],
        look.regular_correct[place],
        look.regular_unbroken[place],
    )


def _write(folder: Path, networks: Sequence[Trained]) -> None:
    with writing(folder):
        (folder / "networks").mkdir(exist_ok=True)
        for trained in networks:
            trained.write(folder / "networks")
    _write_violated(folder / "violated", networks)
    with writing(folder):
        _write_regular(folder / "regular", networks)


def _write_violated(folder: Path, networks: Sequence[Trained]) -> None:
    text = json.dumps([[t.name, asdict(t.schedule), asdict(t.setting)] for t in networks])
    plan = Plan(text, 0, versions())
    with open_journal(folder, plan) as journal:
        if journal.complete() is not None:
            return
        journal.begin()
        records: list[TaskRecord] = []
        for trained in networks:
            made = _hidden(trained)
            if made:
                seed = trained.setting.seed
                records.append(journal.store(trained.name, FAMILY, seed, 0.0, made, ()))
        rows = [row(made, _TIMEOUT) for record in records for made in record.instances]
        journal.finish(rows, document("trained", plan, records, {}), complete=True)


def _hidden(trained: Trained) -> tuple[Instance, ...]:
    found: list[Instance] = []
    parameters = {"network": trained.name, **asdict(trained.schedule), **asdict(trained.setting)}
    for place in trained.kept:
        instance = violated(trained, place, parameters, trained.setting.seed)
        if instance is not None:
            require_verified(instance)
            found.append(instance.renamed(f"{trained.name}-{instance.name}", None))
    return tuple(found)


def _write_regular(folder: Path, networks: Sequence[Trained]) -> None:
    for part in ("onnx", "vnnlib"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    rows: list[tuple[str, str, float]] = []
    for trained in networks:
        (folder / "onnx" / f"{trained.name}.onnx").write_bytes(trained.onnx)
        planted = len(trained.examples.targets)
        for place in range(planted, 2 * planted):
            asked = question(trained, place, {}, trained.setting.seed)
            name = f"vnnlib/{trained.name}-{place}.vnnlib"
            (folder / name).write_bytes(asked.question_bytes())
            rows.append((f"onnx/{trained.name}.onnx", name, _TIMEOUT))
    write_list(folder, rows)
