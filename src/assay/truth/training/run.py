"""Train networks together, look at them now and then, keep the best of each; resumable."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from assay.bounds.one_thread import one_thread
from assay.errors import BadInput
from assay.truth.training.checkpoint import Saved, load, save
from assay.truth.training.look import Look
from assay.truth.training.memory import networks_at_once
from assay.truth.training.record import Trained
from assay.truth.training.settings import Schedule, Setting
from assay.truth.training.standing import Standing
from assay.truth.training.trainer import Trainer

_SHRINK_BELOW = 0.75
"""Networks that are done are dropped when fewer than this share is left."""
_SAVE_EVERY_S = 60.0
_TELL_EVERY_S = 5.0


@dataclass(frozen=True)
class Progress:
    epoch: int
    epochs: int
    seconds: float
    hidden: tuple[int, ...]
    """The most that were hidden at a look, for each network."""
    at_work: int
    resumed: bool = False
    """Whether this is where an earlier process got to."""
    last_attack: float | None = None
    """The share that is done of the attack that decides, when it has come to that."""


Report = Callable[[Progress], None]


def train(
    schedule: Schedule,
    settings: Sequence[Setting],
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
    begun = said = time.monotonic()
    before, standings, live, trainer = _started(schedule, settings, device, checkpoint)
    if report is not None and trainer.epoch:
        report(replace(_progress(trainer, standings, before), resumed=True))
    while not all(standing.done for standing in standings):
        trainer.advance()
        due = trainer.epoch % schedule.look_every == 0 or trainer.epoch == schedule.epochs
        if due:
            look = trainer.look(schedule.look_restarts, schedule.look_steps)
            for place, at in enumerate(live):
                standings[at] = standings[at].after(look, place, trainer)
            places = [place for place, at in enumerate(live) if not standings[at].done]
            if places and len(places) < _SHRINK_BELOW * len(live):
                live = [live[place] for place in places]
                trainer = trainer.only(places)
        now = time.monotonic()
        late = until is not None and now - begun > until
        if due or late or now - said > _SAVE_EVERY_S:
            said, spent = now, before + now - begun
            if checkpoint is not None:
                state = {k: v.detach().cpu().numpy() for k, v in trainer.state().items()}
                saved = Saved(spent, tuple(standings), tuple(live), trainer.epoch, state)
                save(checkpoint, schedule, device.type, saved)
            if report is not None:
                report(_progress(trainer, standings, spent))
        if late:
            break
    return standings


def _started(
    schedule: Schedule, settings: Sequence[Setting], device: torch.device, checkpoint: Path | None
) -> tuple[float, list[Standing], list[int], Trainer]:
    """Seconds spent before, the standings, which of them are trained, and their trainer."""
    if checkpoint is None or not checkpoint.exists():
        standings = [Standing(setting) for setting in settings]
        return 0.0, standings, list(range(len(settings))), Trainer(schedule, settings, device)
    saved = load(checkpoint, schedule, settings, device.type)
    trainer = Trainer(schedule, [settings[at] for at in saved.live], device)
    try:
        trainer.restore(saved.state, saved.epoch)
    except (KeyError, ValueError, RuntimeError) as error:
        raise BadInput(f"{checkpoint}: does not fit this torch ({error}); remove it") from None
    return saved.seconds, list(saved.standings), list(saved.live), trainer


def _progress(trainer: Trainer, standings: Sequence[Standing], seconds: float) -> Progress:
    return Progress(
        trainer.epoch,
        trainer.schedule.epochs,
        seconds,
        tuple(max(standing.hidden, 0) for standing in standings),
        sum(not standing.done for standing in standings),
    )


def trained_here(schedule: Schedule, setting: Setting) -> Trained:
    """One network, trained on the CPU by one thread, so that its bytes depend on nothing else."""
    with one_thread():
        (standing,) = train(schedule, [setting], torch.device("cpu"))
    return standing.recorded("network", schedule, standing.places, {})


def counted(
    schedule: Schedule,
    standings: Sequence[Standing],
    device: torch.device,
    restarts: int,
    steps: int,
    told: Callable[[float], None] = lambda _: None,
) -> Look:
    """A last look at the best of every network; `told` hears now and then which share is done."""
    said, done, work = time.monotonic(), 0, len(standings) * restarts * steps

    def stepped(points: int) -> None:
        nonlocal said, done
        done += points
        if time.monotonic() - said > _TELL_EVERY_S:
            said = time.monotonic()
            told(done / work)

    looks, most = [], networks_at_once(schedule, restarts, device.type)
    for begun in range(0, len(standings), most):
        part = standings[begun : begun + most]
        trainer = Trainer(schedule, [standing.setting for standing in part], device)
        for place, standing in enumerate(part):
            assert standing.weights is not None
            trainer.set_weights(place, standing.weights)
        looks.append(trainer.look(restarts, steps, stepped))
    return Look.joined(looks)
