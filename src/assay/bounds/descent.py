"""Down the margin by signed gradient steps, many points at once, each kept inside its box."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from assay.bounds.inequalities import Excesses

_REACH = 0.2
_FADING = 0.93


@dataclass(frozen=True, eq=False)
class Descent:
    """The lowest margin on the way of each point, and where it was.

    `steepest` is the largest sum of sizes of the margin's gradient that was met, over the inputs
    that the box leaves free.
    """

    points: Tensor
    margins: Tensor
    steepest: float


def descended(
    view: torch.nn.Module,
    excesses: Excesses,
    box: tuple[Tensor, Tensor],
    points: Tensor,
    steps: int,
    enough: Callable[[Tensor, Tensor], bool] = lambda _margins, _outputs: False,
) -> Descent:
    """Half of the points descend on the margin, the others on one disjunct each.

    `enough` sees the lowest margins so far and the outputs of the step, and may end it early.
    """
    lower, upper = box
    free = upper > lower
    number = torch.arange(len(points), device=points.device)
    target, targeted = (number // 2) % len(excesses.thresholds), number % 2 == 1
    reach = upper * _REACH - lower * _REACH
    points = torch.minimum(torch.maximum(points, lower), upper)
    best = torch.full((len(points),), math.inf, dtype=torch.float64, device=points.device)
    lowest, steepest = points, 0.0
    for step in range(steps + 1):
        points = points.detach().requires_grad_()
        with torch.enable_grad():
            outputs = view(points)
            by_disjunct = excesses.at(outputs).amax(2)
            margins = by_disjunct.amin(1)
            own = by_disjunct.gather(1, target.unsqueeze(1))[:, 0]
            goal = torch.where(targeted, own, margins)
        # What overflows is no margin, however low.
        reached = torch.where(torch.isfinite(margins.detach()), margins.detach(), math.inf)
        better = reached < best
        best = torch.where(better, reached, best)
        lowest = torch.where(better.unsqueeze(1), points.detach(), lowest)
        if step == steps or enough(best, outputs.detach()):
            break
        slope = torch.zeros_like(points)
        if goal.requires_grad:
            (slope,) = torch.autograd.grad(goal.sum(), points)
        sums = torch.where(free, slope.abs(), 0.0).sum(1)[~targeted]
        steepest = max(steepest, float(torch.where(torch.isfinite(sums), sums, 0.0).max()))
        moved = points.detach() - reach * _FADING**step * slope.sign()
        points = torch.minimum(torch.maximum(moved, lower), upper)
    return Descent(lowest, best, steepest)
