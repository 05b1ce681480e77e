"""Train networks together, look at them now and then, keep the best of each; resumable."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from assay.errors import BadInput
from assay.truth.training.architectures import ARCHITECTURES
from assay.truth.training.checkpoint import load, save
from assay.truth.training.examples import drawn
from assay.truth.training.record import Trained
from assay.truth.training.settings import Schedule, Setting
from assay.truth.training.trainer import Look, Trainer
from assay.truth.training.written import network_bytes

Arrays = dict[str, np.ndarray]
_SHRINK_BELOW = 0.75
"""Networks that are done are dropped when fewer than this share is left."""


@dataclass
class Standing:
    """The best look at one network so far, and its parameters then."""

    setting: Setting
    epoch: int = 0
    correct: int = 0
    planted: int = 0
    hidden: int = -1
    places: list[int] = field(default_factory=list)
    """Which examples were hidden."""
    weights: Arrays | None = None
    done: bool = False


@dataclass(frozen=True)
class Progress:
    epoch: int
    epochs: int
    seconds: float
    hidden: list[int]
    """The most that were hidden at a look, for each network."""
    at_work: int


Report = Callable[[Progress], None]


def train(
    schedule: Schedule,
    settings: list[Setting],
    device: torch.device,
    *,
    checkpoint: Path | None = None,
    until: float | None = None,
    report: Report | None = None,
) -> list[Standing]:
    """Train all settings; stops early (and can be called again) after `until` seconds.

    A network is done when all its counterexamples are hidden at a look, or when the epochs are
    over. As in the released code the best network of all looks is kept.
    """
    begun = time.monotonic()
    standings = [Standing(setting) for setting in settings]
    trainer, live, before = _started(schedule, standings, device, checkpoint)
    while live and trainer.epoch < schedule.epochs:
        trainer.advance()
        spent = time.monotonic() - begun
        due = trainer.epoch % schedule.look_every == 0 or trainer.epoch == schedule.epochs
        late = until is not None and spent > until
        if due:
            look = trainer.look(schedule.look_restarts, schedule.look_steps)
            _note(standings, live, trainer, look)
            places = [i for i, at in enumerate(live) if not standings[at].done]
            if len(places) < _SHRINK_BELOW * len(live):
                live = [live[i] for i in places]
                trainer = trainer.only(places) if live else trainer
            if report is not None:
                hidden = [max(s.hidden, 0) for s in standings]
                at_work = sum(not s.done for s in standings)
                report(Progress(trainer.epoch, schedule.epochs, before + spent, hidden, at_work))
        if checkpoint is not None and (due or late):
            _save(checkpoint, schedule, standings, trainer, live, before + spent)
        if late:
            break
    return standings


def _note(standings: list[Standing], live: list[int], trainer: Trainer, look: Look) -> None:
    kept = trainer.bank.parameters | trainer.bank.statistics
    for place, at in enumerate(live):
        standing = standings[at]
        if standing.done:
            continue
        if look.hidden[place] >= standing.hidden:
            standing.hidden = look.hidden[place]
            standing.correct, standing.planted = look.correct[place], look.planted[place]
            standing.epoch, standing.places = trainer.epoch, look.places[place]
            standing.weights = {k: v[place].detach().cpu().numpy().copy() for k, v in kept.items()}
        standing.done = (
            standing.hidden == trainer.schedule.examples or trainer.epoch == trainer.schedule.epochs
        )


def _started(
    schedule: Schedule, standings: list[Standing], device: torch.device, checkpoint: Path | None
) -> tuple[Trainer, list[int], float]:
    live = list(range(len(standings)))
    if checkpoint is None or not checkpoint.exists():
        return Trainer(schedule, [s.setting for s in standings], device), live, 0.0
    arrays, note = load(checkpoint)
    if note["plan"] != _plan(schedule, standings):
        raise BadInput(f"{checkpoint}: belongs to another training; choose another folder")
    for at, (standing, known) in enumerate(zip(standings, note["standings"], strict=True)):
        for name, value in known.items():
            setattr(standing, name, value)
        prefix = f"best{at}."
        weights = {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}
        standing.weights = weights or None
    live = note["live"]
    trainer = Trainer(schedule, [standings[at].setting for at in live], device)
    state = {k.removeprefix("now."): v for k, v in arrays.items() if k.startswith("now.")}
    trainer.restore(state, note["epoch"])
    return trainer, live, note["seconds"]


def _save(
    path: Path,
    schedule: Schedule,
    standings: list[Standing],
    trainer: Trainer,
    live: list[int],
    seconds: float,
) -> None:
    arrays = {f"now.{k}": v.detach().cpu().numpy() for k, v in trainer.state().items()}
    for at, standing in enumerate(standings):
        for name, value in (standing.weights or {}).items():
            arrays[f"best{at}.{name}"] = value
    known = ("epoch", "correct", "planted", "hidden", "places", "done")
    note = {
        "plan": _plan(schedule, standings),
        "standings": [{name: getattr(s, name) for name in known} for s in standings],
        "live": live,
        "epoch": trainer.epoch,
        "seconds": seconds,
    }
    save(path, arrays, note)


def _plan(schedule: Schedule, standings: list[Standing]) -> dict[str, Any]:
    return {"schedule": asdict(schedule), "settings": [asdict(s.setting) for s in standings]}


def trained_here(schedule: Schedule, setting: Setting) -> Trained:
    """One network, trained on the CPU by one thread, so that its bytes depend on nothing else."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        (standing,) = train(schedule, [setting], torch.device("cpu"))
    finally:
        torch.set_num_threads(threads)
    return recorded("network", schedule, standing, tuple(standing.places), {})


def counted(
    schedule: Schedule, standings: list[Standing], device: torch.device, restarts: int, steps: int
) -> Look:
    """A last look at the best of every network."""
    trainer = Trainer(schedule, [standing.setting for standing in standings], device)
    with torch.no_grad():
        for name, tensor in (trainer.bank.parameters | trainer.bank.statistics).items():
            for place, standing in enumerate(standings):
                assert standing.weights is not None
                tensor[place].copy_(torch.from_numpy(standing.weights[name]))
    return trainer.look(restarts, steps)


def recorded(
    name: str,
    schedule: Schedule,
    standing: Standing,
    kept: tuple[int, ...],
    facts: dict[str, Any],
) -> Trained:
    """A network as it is written; `kept` are the examples that stayed hidden."""
    assert standing.weights is not None
    architecture = ARCHITECTURES[schedule.architecture]
    onnx = network_bytes(architecture, schedule.channels, standing.weights)
    measured = {
        "epoch": standing.epoch,
        "correct": standing.correct,
        "planted": standing.planted,
        "hidden": standing.hidden,
    }
    return Trained(
        name,
        onnx,
        drawn(schedule, standing.setting),
        kept,
        schedule,
        standing.setting,
        measured | facts,
    )
