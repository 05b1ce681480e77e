"""The training loop: attack, keep the perturbations, take one step on both objectives."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from assay.truth.training.architectures import ARCHITECTURES
from assay.truth.training.ascent import Ascent, margin_of_wrong
from assay.truth.training.bank import new_bank
from assay.truth.training.examples import Examples, drawn
from assay.truth.training.replay import Replayed
from assay.truth.training.settings import Schedule, Setting

_BETAS = (0.9, 0.999)
_TINY = 1e-8


@dataclass(frozen=True)
class Look:
    """How far each network is: the columns of the paper's Table 2, a list of networks each."""

    correct: list[int]
    """Centres with a counterexample that are classified rightly."""
    planted: list[int]
    """Counterexamples that the network gets wrong as it should."""
    hidden: list[int]
    """Both, and the attack found nothing."""
    regular_correct: list[int]
    regular_unbroken: list[int]
    """Regular examples that are right at the centre and that the attack did not break."""
    places: list[list[int]]
    """Which examples are hidden."""


class Trainer:
    def __init__(self, schedule: Schedule, settings: list[Setting], device: torch.device) -> None:
        self.schedule, self.settings, self.device = schedule, settings, device
        self.examples: list[Examples] = [drawn(schedule, setting) for setting in settings]
        architecture = ARCHITECTURES[schedule.architecture]
        seeds = [setting.seed for setting in settings]
        self.bank = new_bank(architecture, schedule.channels, schedule.classes, seeds, device)
        self.epoch = 0
        self._draws = [torch.Generator(device).manual_seed(seed) for seed in seeds]
        self._lay_out()
        self._capture()

    def _lay_out(self) -> None:
        def stack(values: list[np.ndarray]) -> Tensor:
            return torch.tensor(np.array(values), device=self.device)

        each, device = self.examples, self.device
        self._centres = stack([e.centres for e in each])
        self._labels = stack([e.labels for e in each])
        self._targets = stack([e.targets for e in each])
        self._counterexamples = stack([e.counterexamples for e in each])
        self._epsilon = torch.tensor([e.epsilon for e in each], device=device)
        self._hinged = torch.tensor([s.margin is not None for s in self.settings], device=device)
        self._margin = torch.tensor([s.margin or 0.0 for s in self.settings], device=device)
        self._persist = torch.tensor([[s.persist] for s in self.settings], device=device)
        self._longest = max(s.window for s in self.settings)
        networks, count, inputs = self._centres.shape
        self._window = torch.zeros(networks, self._longest, count, inputs, device=device)
        self._age_weight = torch.zeros(networks, self._longest, device=device)
        self._rate = torch.zeros((), device=device)
        self._tick = torch.zeros((), device=device)
        self._loss = torch.zeros(networks, device=device)
        self._first = {k: torch.zeros_like(v) for k, v in self.bank.parameters.items()}
        self._second = {k: torch.zeros_like(v) for k, v in self.bank.parameters.items()}

    def state(self) -> dict[str, Tensor]:
        """All that a later process needs to go on; each has an axis of networks but `tick`."""
        named = {
            "parameter": self.bank.parameters,
            "statistic": self.bank.statistics,
            "first": self._first,
            "second": self._second,
        }
        tensors = {f"{kind}.{k}": v for kind, each in named.items() for k, v in each.items()}
        noise = torch.stack([draw.get_state() for draw in self._draws])
        return tensors | {"window": self._window, "tick": self._tick, "noise": noise}

    def restore(self, state: Mapping[str, np.ndarray], epoch: int) -> None:
        self.epoch = epoch
        with torch.no_grad():
            for name, tensor in self.state().items():
                if name == "noise":
                    for draw, value in zip(self._draws, state[name], strict=True):
                        draw.set_state(torch.from_numpy(value))
                else:
                    tensor.copy_(torch.from_numpy(np.asarray(state[name])))

    def only(self, places: list[int]) -> Trainer:
        """A trainer that goes on with some of the networks."""
        smaller = Trainer(self.schedule, [self.settings[i] for i in places], self.device)
        state = {name: tensor.detach().cpu().numpy() for name, tensor in self.state().items()}
        kept = {name: value if name == "tick" else value[places] for name, value in state.items()}
        longest = smaller.window_length
        if longest < self.window_length:
            # A ring of another length: the latest perturbations, at the slots that it would use.
            epochs = range(max(self.epoch - longest, 0), self.epoch)
            ring = np.zeros((len(places), longest, *kept["window"].shape[2:]), np.float32)
            for epoch in epochs:
                ring[:, epoch % longest] = kept["window"][:, epoch % self.window_length]
            kept["window"] = ring
        smaller.restore(kept, self.epoch)
        return smaller

    @property
    def window_length(self) -> int:
        return self._longest

    def _capture(self) -> None:
        restarts = self.schedule.restarts
        self._attacks = (
            self._ascent(math.ceil(restarts / 3), fast=True),
            self._ascent(restarts, fast=True),
        )
        for value in self.bank.parameters.values():
            value.requires_grad_()
        state = [
            *self.bank.parameters.values(),
            *self.bank.statistics.values(),
            *self._first.values(),
            *self._second.values(),
            self._tick,
            self._loss,
        ]
        self._age_weight.fill_(1 / self._longest)
        self._update = Replayed(self._learn, state)

    def advance(self) -> None:
        """One epoch."""
        gentle = self.epoch < self.schedule.gentle * self.schedule.epochs
        attack = self._attacks[0 if gentle else 1]
        attack.run(math.ceil(self.schedule.steps / 3) if gentle else self.schedule.steps)
        slot = self.epoch % self._longest
        found = (attack.margin >= 0) | self._persist
        self._window[:, slot] = torch.where(found.unsqueeze(2), attack.best, attack.anywhere())
        ages = (slot - np.arange(self._longest)) % self._longest
        weights = np.zeros((len(self.settings), self._longest), np.float32)
        for row, setting in zip(weights, self.settings, strict=True):
            row[ages < min(setting.window, self.epoch + 1)] = 1
            row /= row.sum()
        self._age_weight.copy_(torch.from_numpy(weights))
        self._rate.fill_(self._rate_at(self.epoch + 1))
        self._update()
        self.epoch += 1

    def _rate_at(self, epoch: int) -> float:
        """Up to the peak in the first half, down to zero in the second."""
        half = self.schedule.epochs / 2
        share = epoch / half if epoch <= half else (self.schedule.epochs - epoch) / half
        return self.schedule.peak_rate * max(share, 0.0)

    def _learn(self) -> None:
        networks, length, count, inputs = self._window.shape
        attacked = (self._centres.unsqueeze(1) + self._window).view(networks, -1, inputs)
        shares = (self._age_weight / count).repeat_interleave(count, dim=1)
        planted = self._counterexamples.shape[1]
        points = torch.cat([attacked, self._counterexamples], 1)
        counted = torch.cat([shares, shares.new_full((networks, planted), 1 / count / length)], 1)
        logits = self.bank.train(points, counted)
        at_attacked, at_planted = logits[:, :-planted], logits[:, -planted:]
        labels = self._labels.repeat(1, length)
        robust = (shares * _cross_entropy(at_attacked, labels)).sum(1)
        of_label = at_planted.gather(2, self._labels[:, :planted, None]).squeeze(2)
        of_target = at_planted.gather(2, self._targets.unsqueeze(2)).squeeze(2)
        hinge = torch.relu(of_label - of_target + self._margin[:, None]).mean(1)
        plain = _cross_entropy(at_planted, self._targets).mean(1)
        loss = robust + torch.where(self._hinged, hinge, plain)
        names = list(self.bank.parameters)
        slopes = torch.autograd.grad(loss.sum(), [self.bank.parameters[n] for n in names])
        with torch.no_grad():
            self._loss.copy_(loss)
            self._descend(dict(zip(names, slopes, strict=True)))

    def _descend(self, slopes: dict[str, Tensor]) -> None:
        """One step of Adam, the gradient of each network clipped."""
        squares = sum(slope.flatten(1).square().sum(1) for slope in slopes.values())
        assert isinstance(squares, Tensor)
        scale = (self.schedule.clip / (squares.sqrt() + _TINY)).clamp(max=1)
        self._tick += 1
        for name, slope in slopes.items():
            clipped = slope * scale.view(-1, *[1] * (slope.dim() - 1))
            first, second = self._first[name], self._second[name]
            first.lerp_(clipped, 1 - _BETAS[0])
            second.lerp_(clipped.square(), 1 - _BETAS[1])
            mean = first / (1 - torch.pow(_BETAS[0], self._tick))
            spread = second / (1 - torch.pow(_BETAS[1], self._tick))
            self.bank.parameters[name].sub_(self._rate * mean / (spread.sqrt() + _TINY))

    def look(self, restarts: int, steps: int) -> Look:
        planted = self._counterexamples.shape[1]
        attack = self._ascent(restarts, fast=False)
        attack.run(steps)
        with torch.no_grad():
            frozen = self.bank.frozen()
            at_centre = self.bank.run(frozen, self._centres)
            at_planted = self.bank.run(frozen, self._counterexamples)
            correct = margin_of_wrong(at_centre, self._labels.unsqueeze(2)) < 0
            wrong = at_planted.argmax(2) == self._targets
            unbroken = correct & (attack.margin < 0)
            hidden = wrong & unbroken[:, :planted]

            def count(mask: Tensor) -> list[int]:
                return [int(n) for n in mask.sum(1)]

            return Look(
                correct=count(correct[:, :planted]),
                planted=count(wrong),
                hidden=count(hidden),
                regular_correct=count(correct[:, planted:]),
                regular_unbroken=count(unbroken[:, planted:]),
                places=[row.nonzero().flatten().tolist() for row in hidden],
            )

    def _ascent(self, restarts: int, *, fast: bool) -> Ascent:
        return Ascent(
            self.bank,
            self._centres,
            self._labels,
            self._epsilon,
            restarts=restarts,
            step_size=self.schedule.step_size,
            draws=self._draws,
            fast=fast,
        )


def _cross_entropy(logits: Tensor, labels: Tensor) -> Tensor:
    return -torch.log_softmax(logits, -1).gather(-1, labels.unsqueeze(-1)).squeeze(-1)
