"""Projected gradient ascent on the margin, for all examples of all networks at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from assay.truth.training.bank import Bank
from assay.truth.training.example_tensors import ExampleTensors
from assay.truth.training.replay import Replayed


class Ascent:
    """Attacks examples of a bank; tensors are laid out once, the weights may change between calls.

    `draws` is a source of noise for each network; `fast` computes in half precision on a GPU.
    Steps are `step_size` times the radius; on every second restart they shrink, geometrically, to
    `last_step` (a number for each network) times the radius: long steps jump over thin regions.
    """

    def __init__(
        self,
        bank: Bank,
        attacked: ExampleTensors,
        draws: Sequence[torch.Generator],
        *,
        restarts: int,
        step_size: float,
        last_step: Sequence[float],
        fast: bool,
    ) -> None:
        self._bank, self._draws, centres = bank, draws, attacked.centres
        self._centres = centres.unsqueeze(2)
        self._labels = attacked.labels[:, :, None, None].expand(-1, -1, restarts, 1)
        self._radius = attacked.epsilon.view(-1, 1, 1, 1)
        self._step_size = step_size
        networks, examples, inputs = centres.shape
        size = (networks, 1, restarts, 1)
        self._step = torch.zeros(size, device=centres.device)
        shrunk = torch.tensor(last_step, device=centres.device) / step_size
        self._shrunk = torch.ones(size, device=centres.device)
        self._shrunk[:, :, 1::2] = shrunk.view(-1, 1, 1, 1)
        self._factor = torch.ones(size, device=centres.device)
        self._fast = fast and centres.is_cuda
        self._frozen = [tensor.detach().clone() for tensor in bank.frozen(fast=self._fast)]
        self._shift = torch.zeros(networks, examples, restarts, inputs, device=centres.device)
        self.margin = torch.zeros(networks, examples, device=centres.device)
        """The largest margin of a wrong class over the label that was seen."""
        self.best = torch.zeros(networks, examples, inputs, device=centres.device)
        """The shift from the centre at which it was seen."""
        self._moved = Replayed(self._move, [self._shift, self._step, self.margin, self.best])

    def run(self, steps: int, stepped: Callable[[], None] = lambda: None) -> None:
        """From random points of the boxes; `margin` and `best` are of all points on the way."""
        with torch.no_grad():
            for kept, new in zip(self._frozen, self._bank.frozen(fast=self._fast), strict=True):
                kept.copy_(new)
            self._scatter(self._shift)
            self.margin.fill_(-torch.inf)
            self._step.copy_((self._step_size * self._radius).expand_as(self._step))
            self._factor.copy_(self._shrunk ** (1 / max(steps - 1, 1)))
        for _ in range(steps):
            self._moved()
            stepped()

    def anywhere(self) -> Tensor:
        """A random shift for each example."""
        return self._scatter(torch.empty_like(self.best).unsqueeze(2)).squeeze(2)

    def _scatter(self, shifts: Tensor) -> Tensor:
        for shift, draw in zip(shifts, self._draws, strict=True):
            shift.uniform_(-1, 1, generator=draw)
        return shifts.mul_(self._radius)

    def _move(self) -> None:
        shift = self._shift.detach().requires_grad_()
        networks, examples, restarts, inputs = shift.shape
        points = (self._centres + shift).view(networks, examples * restarts, inputs)
        logits = self._bank.run(self._frozen, points).view(networks, examples, restarts, -1)
        margins = margin_of_wrong(logits, self._labels)
        (slope,) = torch.autograd.grad(margins.sum(), shift)
        with torch.no_grad():
            highest, place = margins.detach().max(2)
            index = place[:, :, None, None].expand(-1, -1, 1, inputs)
            found = self._shift.gather(2, index).squeeze(2)
            better = (highest > self.margin).unsqueeze(2)
            self.best.copy_(torch.where(better, found, self.best))
            self.margin.copy_(torch.maximum(self.margin, highest))
            moved = torch.addcmul(self._shift, self._step, slope.sign())
            torch.clamp(moved, -self._radius, self._radius, out=self._shift)
            self._step.mul_(self._factor)


def margin_of_wrong(logits: Tensor, labels: Tensor) -> Tensor:
    """The best wrong logit minus the label's; labels keep the axis of classes, of length one."""
    right = logits.gather(-1, labels)
    wrong = logits.scatter(-1, labels, -torch.inf).amax(-1)
    return wrong - right.squeeze(-1)
