"""The training loop: attack, keep the perturbations, take one step on both objectives."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
import torch
from torch import Tensor

from assay.truth.training.adam import Adam
from assay.truth.training.architectures import ARCHITECTURES
from assay.truth.training.ascent import Ascent
from assay.truth.training.banks import new_bank
from assay.truth.training.example_tensors import ExampleTensors
from assay.truth.training.examples import drawn
from assay.truth.training.look import Look, looked
from assay.truth.training.memory import restarts_at_once
from assay.truth.training.objectives import counterexample_loss, window_loss
from assay.truth.training.replay import Replayed
from assay.truth.training.settings import Schedule, Setting
from assay.truth.training.window import Window, shortened

Stepped = Callable[[int], None]


class Trainer:
    """Networks of one schedule, epoch by epoch.

    A network draws noise from a generator of its own, so that it does not matter in which company
    it is trained.
    """

    def __init__(
        self, schedule: Schedule, settings: Sequence[Setting], device: torch.device
    ) -> None:
        self.schedule, self.settings, self.device = schedule, tuple(settings), device
        self.epoch = 0
        seeds = [setting.seed for setting in settings]
        architecture = ARCHITECTURES[schedule.architecture]
        self.bank = new_bank(architecture, schedule.channels, schedule.classes, seeds, device)
        self._draws = [torch.Generator(device).manual_seed(seed) for seed in seeds]
        each = [drawn(schedule, setting) for setting in settings]
        self._examples = ExampleTensors.of(each, device)
        self._margin = torch.tensor([s.margin or 0.0 for s in settings], device=device)
        self._hinged = torch.tensor([s.margin is not None for s in settings], device=device)
        self._persist = torch.tensor([[s.persist] for s in settings], device=device)
        _, examples, inputs = self._examples.centres.shape
        self._window = Window([s.window for s in settings], examples, inputs, device)
        self._adam = Adam(self.bank.parameters, schedule.clip, device)
        self._gentle_attack = self._attack(_third(schedule.restarts), fast=True)
        self._full_attack = self._attack(schedule.restarts, fast=True)
        for value in self.bank.parameters.values():
            value.requires_grad_()
        changed = [value for name, value in self.state().items() if name not in _NOT_LEARNT]
        self._learn = Replayed(self._step, changed)

    def advance(self) -> None:
        """One epoch."""
        if self.epoch < self.schedule.gentle * self.schedule.epochs:
            attack, steps = self._gentle_attack, _third(self.schedule.steps)
        else:
            attack, steps = self._full_attack, self.schedule.steps
        attack.run(steps)
        found = (attack.margin >= 0) | self._persist
        # Where nothing is found, random points: trained on its best tries, nothing stays hidden.
        self._window.put(
            self.epoch, torch.where(found.unsqueeze(2), attack.best, attack.anywhere())
        )
        self.epoch += 1
        self._adam.rate.fill_(rate_at(self.schedule, self.epoch))
        self._learn()

    def look(self, restarts: int, steps: int, stepped: Stepped = lambda _: None) -> Look:
        """Attack all networks as they are, so many restarts at once as memory holds.

        `stepped` hears after every step how many points took it.
        """
        margin = torch.full_like(self._examples.labels, -torch.inf, dtype=torch.float32)
        most = restarts_at_once(self.schedule, len(self.settings), self.device.type)
        for begun in range(0, restarts, most):
            count = min(most, restarts - begun)
            attack = self._attack(count, fast=False)
            attack.run(steps, partial(stepped, count * len(self.settings)))
            margin = torch.maximum(margin, attack.margin)
        return looked(self.bank, self._examples, margin)

    def weights(self, place: int) -> dict[str, np.ndarray]:
        """A copy of the parameters and statistics of one network."""
        kept = self.bank.parameters | self.bank.statistics
        return {name: v[place].detach().cpu().numpy().copy() for name, v in kept.items()}

    def set_weights(self, place: int, weights: Mapping[str, np.ndarray]) -> None:
        with torch.no_grad():
            for name, tensor in (self.bank.parameters | self.bank.statistics).items():
                tensor[place].copy_(torch.from_numpy(weights[name]))

    def state(self) -> dict[str, Tensor]:
        """All that a later process needs to go on; each has an axis of networks but `tick`."""
        named = {
            "parameter": self.bank.parameters,
            "statistic": self.bank.statistics,
            "first": self._adam.first,
            "second": self._adam.second,
        }
        tensors = {f"{kind}.{k}": v for kind, each in named.items() for k, v in each.items()}
        noise = torch.stack([draw.get_state() for draw in self._draws])
        return tensors | {"tick": self._adam.ticks, "window": self._window.shifts, "noise": noise}

    def restore(self, state: Mapping[str, np.ndarray], epoch: int) -> None:
        self.epoch = epoch
        with torch.no_grad():
            for name, tensor in self.state().items():
                if name == "noise":
                    for draw, value in zip(self._draws, state[name], strict=True):
                        draw.set_state(torch.from_numpy(value))
                else:
                    tensor.copy_(torch.from_numpy(np.asarray(state[name])))

    def only(self, places: Sequence[int]) -> Trainer:
        """A trainer that goes on with some of the networks."""
        smaller = Trainer(self.schedule, [self.settings[i] for i in places], self.device)
        state = {name: tensor.detach().cpu().numpy() for name, tensor in self.state().items()}
        kept = {name: v if name == "tick" else v[list(places)] for name, v in state.items()}
        kept["window"] = shortened(kept["window"], smaller._window.length, self.epoch)
        smaller.restore(kept, self.epoch)
        return smaller

    def _attack(self, restarts: int, *, fast: bool) -> Ascent:
        return Ascent(
            self.bank,
            self._examples,
            self._draws,
            restarts=restarts,
            step_size=self.schedule.step_size,
            last_step=[setting.last_step for setting in self.settings],
            fast=fast,
        )

    def _step(self) -> None:
        examples, window = self._examples, self._window
        networks, length, count, inputs = window.shifts.shape
        attacked = (examples.centres.unsqueeze(1) + window.shifts).view(networks, -1, inputs)
        shares = (window.shares / count).repeat_interleave(count, dim=1)
        planted = examples.planted
        points = torch.cat([attacked, examples.counterexamples], 1)
        alike = (window.shares.amax(1, keepdim=True) / count).expand(-1, planted)
        counted = torch.cat([shares, alike], 1)
        logits = self.bank.train(points, counted)
        labels = examples.labels.repeat(1, length)
        loss = window_loss(logits[:, :-planted], labels, shares) + counterexample_loss(
            logits[:, -planted:],
            examples.labels[:, :planted],
            examples.targets,
            self._margin,
            self._hinged,
        )
        names = list(self.bank.parameters)
        slopes = torch.autograd.grad(loss.sum(), [self.bank.parameters[n] for n in names])
        with torch.no_grad():
            self._adam.descend(dict(zip(names, slopes, strict=True)))


_NOT_LEARNT = ("window", "noise")
"""Parts of the state that a step on the objectives leaves as they are."""


def rate_at(schedule: Schedule, epoch: int) -> float:
    """Up to the peak in the first half, down to zero in the second; epochs count from 1."""
    half = schedule.epochs / 2
    share = epoch / half if epoch <= half else (schedule.epochs - epoch) / half
    return schedule.peak_rate * max(share, 0.0)


def _third(number: int) -> int:
    return math.ceil(number / 3)
