"""Projected gradient attacks: restarts in the box, sign steps of several sizes, one loss."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from assay.attack.climbing import Gait, climbed
from assay.attack.losses import Loss
from assay.attack.method import Effort
from assay.attack.target import Target

REACHES = (0.5, 0.1, 0.02)
"""First steps in sides of the box; restarts take turns."""


def projected_gradient(loss: Loss) -> Callable[[Target, Effort], None]:
    def run(target: Target, effort: Effort) -> None:
        starts = target.uniform(effort.restarts)
        starts[0] = target.inside(torch.full_like(target.lower, 0.5))
        gait = Gait.of(REACHES, effort.restarts, target.device)
        descend(target, loss, starts, gait, effort.steps)

    return run


def descend(target: Target, loss: Loss, starts: Tensor, gait: Gait, steps: int) -> None:
    """From given starts."""

    def objective(points: Tensor, _rows: Tensor) -> Tensor:
        return loss(target, target.outputs(points))

    climbed(target, objective, starts, gait, steps)
