"""Up an objective by gradient steps, many points at once, each kept inside the box."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from assay.attack.target import Target

Objective = Callable[[Tensor, Tensor], Tensor]
"""Takes points [N, inputs] that ask for gradients and their rows [N]; what is to be raised, [N].

It queries the target, which may end the attack.
"""


@dataclass(frozen=True, eq=False)
class Climbed:
    """The highest point on the way of each row, and what was reached there."""

    points: Tensor
    reached: Tensor


@dataclass(frozen=True, eq=False)
class Gait:
    """How each row steps: `reach` [N] is its first step in sides of the box, later ones shrink.

    Rows that are `signed` [N] step by the signs of the gradient, so all inputs move alike; the
    others along the gradient itself, so that only the input with the largest slope moves that far.
    """

    reach: Tensor
    signed: Tensor

    @classmethod
    def of(cls, reaches: Sequence[float], rows: int, device: torch.device) -> Gait:
        """Rows take turns with the reaches, and step by signs."""
        sizes = torch.tensor(reaches, dtype=torch.float64, device=device)
        number = torch.arange(rows, device=device)
        return cls(sizes[number % len(sizes)], torch.ones_like(number, dtype=torch.bool))

    def __getitem__(self, rows: slice) -> Gait:
        return Gait(self.reach[rows], self.signed[rows])

    def moves(self, slope: Tensor) -> Tensor:
        """Of every row, in sides of the box."""
        largest = slope.abs().amax(1, keepdim=True)
        straight = slope / torch.where(largest > 0, largest, 1.0)
        return self.reach[:, None] * torch.where(self.signed[:, None], slope.sign(), straight)


def climbed(
    target: Target, objective: Objective, starts: Tensor, gait: Gait, steps: int
) -> Climbed:
    parts = [
        _climbed(target, objective, starts[rows], gait[rows], steps, rows)
        for rows in target.batches(len(starts))
    ]
    return Climbed(torch.cat([p.points for p in parts]), torch.cat([p.reached for p in parts]))


def _climbed(
    target: Target, objective: Objective, points: Tensor, gait: Gait, steps: int, rows: slice
) -> Climbed:
    side = target.upper - target.lower
    number = torch.arange(rows.start, rows.stop, device=points.device)
    best = torch.full((len(points),), -math.inf, dtype=points.dtype, device=points.device)
    highest = points
    for step in range(steps + 1):
        points = points.detach().requires_grad_(step < steps)
        with torch.set_grad_enabled(step < steps):
            value = objective(points, number)
        now = value.detach()
        # Nothing that overflows is high.
        better = torch.isfinite(now) & (now > best)
        best = torch.where(better, now, best)
        highest = torch.where(better.unsqueeze(1), points.detach(), highest)
        if step == steps or not value.requires_grad:
            break
        (slope,) = torch.autograd.grad(value.sum(), points)
        moves = gait.moves(torch.nan_to_num(slope) * side)
        points = target.kept(points.detach() + side * _fading(step, steps) * moves)
    return Climbed(highest, best)


def _fading(step: int, steps: int) -> float:
    """From one down to a hundredth, by cosine."""
    return 0.01 + 0.99 * (1 + math.cos(math.pi * step / steps)) / 2
