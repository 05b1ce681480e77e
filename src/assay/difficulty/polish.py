"""The last digits of a low margin: a bundle of tangents in a shrinking box, then single inputs.

Margins of ReLU networks have their minima in kinks, where gradients alone zigzag. A bundle keeps
tangents at points around the best one and moves to the lowest point of their maximum, by a small
linear programme within a trust region; that lands in the kink itself. Where the margin is not
convex nearby it can only fail to improve. After it, single inputs are moved to either face.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.random import Generator
from scipy.optimize import linprog
from torch import Tensor

from assay.difficulty.margin import MarginFunction

_ROUNDS = 30
_AROUND = 12
_MOST_TANGENTS = 48
_MOST_COEFFICIENTS = 2**15
"""In the linear programme; with more inputs fewer tangents are kept."""
_FIRST_RADIUS, _LARGEST_RADIUS, _LAST_RADIUS = 0.1, 0.5, 1e-9
"""Of the trust region, in widths of the box."""
_ENOUGH = 0.1
"""A step that gains this share of what the tangents promise keeps the region's size."""
_NEGLIGIBLE = 1e-8
"""Tangents that promise less than this share of the margin are as good as none."""
_SWEEPS = 12
_MOST_MOVES = 512
"""Single moves tried in a sweep, those along the steepest inputs."""


@dataclass(frozen=True, eq=False)
class Polished:
    """The lowest margin on the way, where, and the largest gradient met."""

    margin: float
    point: Tensor
    steepest: float


def polished(function: MarginFunction, case: int, starts: Tensor, draw: Generator) -> Polished:
    """The lowest that was reached from some points with finite margins and gradients."""
    found = [_Bundle(function, case, start).run(draw) for start in starts]
    best = min(found, key=lambda end: end.margin)
    swept = _swept(function, case, best)
    return Polished(swept.margin, swept.point, max(end.steepest for end in (*found, swept)))


class _Bundle:
    """Tangents of the margin near the lowest point so far; row by row points, values, slopes."""

    def __init__(self, function: MarginFunction, case: int, start: Tensor) -> None:
        self.function = function
        self.lower, self.upper = function.lower[case], function.upper[case]
        self.width = self.upper - self.lower
        self.case = torch.tensor([case], device=start.device)
        self.tangents = max(8, min(_MOST_TANGENTS, _MOST_COEFFICIENTS // len(start)))
        self.points = start.new_zeros((0, len(start)))
        self.values, self.slopes = start.new_zeros(0), self.points
        self.steepest = 0.0
        self._add(start.unsqueeze(0))
        self.point, self.margin = start, float(self.values[0])

    def run(self, draw: Generator) -> Polished:
        radius = _FIRST_RADIUS
        for _ in range(_ROUNDS):
            reach = self.width * radius
            share = torch.from_numpy(draw.uniform(-0.5, 0.5, (_AROUND, len(reach))))
            self._keep_near(reach)
            self._add(self.point + share.to(reach.device) * reach)
            found = self._lowest_of_tangents(reach)
            if found is None or self.margin - found[1] <= _NEGLIGIBLE * abs(self.margin):
                break
            place, promised = found
            self._add(place.unsqueeze(0))
            before, first = self.margin, int(self.values.argmin())
            if float(self.values[first]) < self.margin:
                self.margin, self.point = float(self.values[first]), self.points[first]
            gain, hoped = before - self.margin, before - promised
            if gain > hoped / 2:
                radius = min(radius * 1.5, _LARGEST_RADIUS)
            elif gain <= _ENOUGH * max(hoped, 0.0):
                radius /= 2 if gain > 0 else 4
            if radius < _LAST_RADIUS:
                break
        return Polished(self.margin, self.point, self.steepest)

    def _add(self, points: Tensor) -> None:
        points = torch.minimum(torch.maximum(points, self.lower), self.upper)
        values, slopes = self.function.with_gradients(points, self.case.expand(len(points)))
        usable = torch.isfinite(values) & torch.isfinite(slopes.abs().sum(1))
        points, values, slopes = points[usable], values[usable], slopes[usable]
        if len(points):
            self.steepest = max(self.steepest, float(slopes.abs().sum(1).max()))
        self.points = torch.cat([self.points, points])
        self.values = torch.cat([self.values, values])
        self.slopes = torch.cat([self.slopes, slopes])

    def _keep_near(self, reach: Tensor) -> None:
        near = ((self.points - self.point).abs() <= reach).all(1).nonzero().flatten()
        near = near[-(self.tangents - _AROUND // 2) :]
        self.points, self.values, self.slopes = (
            kept[near] for kept in (self.points, self.values, self.slopes)
        )

    def _lowest_of_tangents(self, reach: Tensor) -> tuple[Tensor, float] | None:
        """Where the largest tangent is least within reach, and how low it is there."""
        slopes = (self.slopes * reach).cpu().numpy()
        heights = self.values + (self.slopes * (self.point - self.points)).sum(1)
        scale = float(np.abs(slopes).sum(axis=1).max())
        if not 0 < scale < np.inf:
            return None
        height = float(heights.max())
        limits = (height - heights.cpu().numpy()) / scale
        size = torch.where(reach > 0, reach, 1.0)
        low = torch.where(reach > 0, (self.lower - self.point) / size, 0.0).clamp(-1, 0)
        high = torch.where(reach > 0, (self.upper - self.point) / size, 0.0).clamp(0, 1)
        ends = np.stack([low.cpu().numpy(), high.cpu().numpy()], axis=1)
        found = linprog(
            np.append(np.zeros(len(ends)), 1.0),
            A_ub=np.hstack([slopes / scale, -np.ones((len(slopes), 1))]),
            b_ub=limits,
            bounds=np.vstack([ends, [-np.inf, np.inf]]),
            method="highs",
        )
        if found.x is None:
            return None
        step = torch.from_numpy(found.x[:-1]).to(reach.device)
        return self.point + step * reach, height + float(found.x[-1]) * scale


def _swept(function: MarginFunction, case: int, start: Polished) -> Polished:
    """Single inputs to either face, and all moves together that help on their own."""
    best = start
    lower, upper = function.lower[case], function.upper[case]
    which = torch.tensor([case], device=start.point.device)
    for _ in range(_SWEEPS):
        _, gradients = function.with_gradients(best.point.unsqueeze(0), which)
        if not bool(torch.isfinite(gradients.abs().sum())):
            break
        best = replace(best, steepest=max(best.steepest, float(gradients.abs().sum())))
        gain = gradients[0].abs() * (upper - lower)
        inputs = gain.argsort(descending=True, stable=True)[: _MOST_MOVES // 2]
        inputs = inputs[(upper > lower)[inputs]]
        moves = best.point.expand(2 * len(inputs), -1).clone()
        row = torch.arange(len(inputs), device=moves.device)
        moves[row, inputs] = lower[inputs]
        moves[row + len(inputs), inputs] = upper[inputs]
        margins = function.values(moves, which.expand(len(moves)))
        joint = _joined(best, moves, inputs, margins).unsqueeze(0)
        tried = torch.cat([moves, joint])
        margins = torch.cat([margins, function.values(joint, which)])
        first = int(margins.argmin())
        if not float(margins[first]) < best.margin:
            break
        best = Polished(float(margins[first]), tried[first], best.steepest)
    return best


def _joined(best: Polished, moves: Tensor, inputs: Tensor, margins: Tensor) -> Tensor:
    """All moves at once that help on their own."""
    helps = margins < best.margin
    count = len(inputs)
    joint = best.point.clone()
    for half in (slice(0, count), slice(count, 2 * count)):
        chosen = inputs[helps[half]]
        joint[chosen] = moves[half][helps[half], chosen]
    return joint
