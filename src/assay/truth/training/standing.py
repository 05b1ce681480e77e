"""What has become of one network of a training so far."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from assay.truth.training.architectures import ARCHITECTURES
from assay.truth.training.examples import drawn
from assay.truth.training.look import Look
from assay.truth.training.record import Facts, Trained
from assay.truth.training.settings import Schedule, Setting
from assay.truth.training.trainer import Trainer
from assay.truth.training.written import network_bytes


@dataclass(frozen=True)
class Standing:
    """The best look at a network, and its weights then."""

    setting: Setting
    epoch: int = 0
    correct: int = 0
    planted: int = 0
    hidden: int = -1
    """Of no look yet: -1."""
    places: tuple[int, ...] = ()
    """Which examples were hidden."""
    done: bool = False
    weights: dict[str, np.ndarray] | None = None

    def after(self, look: Look, place: int, trainer: Trainer) -> Standing:
        """As good as before is better: later weights have seen more attacks."""
        if self.done:
            return self
        best = self
        if look.hidden[place] >= self.hidden:
            best = Standing(
                self.setting,
                trainer.epoch,
                look.correct[place],
                look.planted[place],
                look.hidden[place],
                look.places[place],
                weights=trainer.weights(place),
            )
        schedule = trainer.schedule
        over = best.hidden == schedule.examples or trainer.epoch == schedule.epochs
        return replace(best, done=over)

    def recorded(
        self, name: str, schedule: Schedule, kept: tuple[int, ...], facts: Facts
    ) -> Trained:
        """The network as it is written; `kept` are the examples that stayed hidden."""
        assert self.weights is not None
        architecture = ARCHITECTURES[schedule.architecture]
        return Trained(
            name,
            network_bytes(architecture, schedule.channels, self.weights),
            drawn(schedule, self.setting),
            kept,
            schedule,
            self.setting,
            {
                "epoch": self.epoch,
                "correct": self.correct,
                "planted": self.planted,
                "hidden": self.hidden,
                **facts,
            },
        )
