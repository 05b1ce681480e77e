"""A real search for the least margin, and where it is.

Every box is tried at the corner that its linear bound fears most and at the corner downhill from
its lowest sample; the most promising boxes are then searched in depth: corners, more sign-gradient
jumps, projected descent from the best points, then a polish. What is found is an upper bound of
the true minimum, at a point that is returned; nothing is claimed below it.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import torch
from numpy.random import Generator
from torch import Tensor

from assay.bounds.descent import descended
from assay.difficulty.margin import MarginFunction
from assay.difficulty.polish import polished

SAMPLE, LINEAR, CORNER, JUMP, DESCENT, POLISH = STAGES = (
    "sample",
    "linear bound",
    "corner",
    "sign gradient",
    "descent",
    "polish",
)
MOST_BOXES = 4
"""Boxes that are searched in depth."""
_CORNERS = 256
_FEW_INPUTS = 8
"""Up to this many free inputs all corners are tried."""
_JUMPS = 64
_RESTARTS = 32
_STEPS = 40
_POLISHED = 2


@dataclass(frozen=True, eq=False)
class Samples:
    """Sampled points with their case, margin and gradient, row by row."""

    points: Tensor
    cases: Tensor
    margins: Tensor
    gradients: Tensor

    def at(self, rows: Tensor) -> Samples:
        return Samples(
            self.points[rows], self.cases[rows], self.margins[rows], self.gradients[rows]
        )

    def ordered(self) -> Samples:
        return self.at(self.margins.argsort(stable=True))

    def first(self) -> Lowest:
        row = int(self.margins.argmin())
        return Lowest(float(self.margins[row]), self.points[row], int(self.cases[row]), SAMPLE)


@dataclass(frozen=True, eq=False)
class Lowest:
    """The least margin found, where, in which case of the question, and by which stage."""

    margin: float
    point: Tensor
    case: int
    stage: str


@dataclass(frozen=True, eq=False)
class Searched:
    """`steepest` is the largest sum of sizes of a gradient that was met, samples included."""

    lowest: Lowest
    steepest: float


def searched(
    function: MarginFunction, samples: Samples, slopes: Tensor, draw: Generator
) -> Searched:
    """Search from samples, and from slopes [C, d] of linear functions below the margin."""
    samples = samples.ordered()
    every = torch.arange(len(function.cases), device=samples.points.device)
    feared = torch.where(slopes.to(samples.points.device) > 0, function.lower, function.upper)
    tried = [_Tried(feared, every, function.values(feared, every), LINEAR)]
    first = samples.at(_first_of_each(samples.cases, len(function.cases)))
    down = _downhill(function, first)
    tried.append(_Tried(down, first.cases, function.values(down, first.cases), JUMP))
    best = min((samples.first(), *(t.lowest() for t in tried)), key=lambda found: found.margin)
    steepest = float(samples.gradients.abs().sum(1).max())
    for case in _promising(samples, tried):
        depth = _Depth(function, case, samples.at((samples.cases == case).nonzero().flatten()))
        found, slope = depth.search([t.of(case) for t in tried], draw)
        steepest = max(steepest, slope)
        best = min(best, found, key=lambda found: found.margin)
    return Searched(best, steepest)


@dataclass(frozen=True, eq=False)
class _Tried:
    """Points that one stage came up with; a margin that is not defined is infinite."""

    points: Tensor
    cases: Tensor
    margins: Tensor
    stage: str

    def of(self, case: int) -> _Tried:
        rows = (self.cases == case).nonzero().flatten()
        return _Tried(self.points[rows], self.cases[rows], self.margins[rows], self.stage)

    def lowest(self) -> Lowest:
        row = int(self.margins.argmin())
        return Lowest(float(self.margins[row]), self.points[row], int(self.cases[row]), self.stage)

    def best(self, count: int) -> Tensor:
        return self.points[self.margins.argsort(stable=True)[:count]]


def _first_of_each(cases: Tensor, count: int) -> Tensor:
    """The first row of every case; each has one, since samples are dealt in turn."""
    rows = {case: row for row, case in reversed(list(enumerate(cases.tolist())))}
    return torch.tensor([rows[case] for case in range(count)], device=cases.device)


def _downhill(function: MarginFunction, samples: Samples) -> Tensor:
    """The corner that a linear margin would be least at; inputs without slope stay."""
    slopes, cases = samples.gradients, samples.cases
    jumps = torch.where(slopes > 0, function.lower[cases], function.upper[cases])
    return torch.where(slopes == 0, samples.points, jumps)


def _promising(samples: Samples, tried: list[_Tried]) -> list[int]:
    """The cases in the order of the lowest margin known of each."""
    margins = torch.cat([samples.margins, *(t.margins for t in tried)])
    cases = torch.cat([samples.cases, *(t.cases for t in tried)])
    order = cases[margins.argsort(stable=True)].tolist()
    return list(dict.fromkeys(order))[:MOST_BOXES]


class _Depth:
    """The search of one box."""

    def __init__(self, function: MarginFunction, case: int, samples: Samples) -> None:
        self.function, self.case, self.samples = function, case, samples
        self.lower, self.upper = function.lower[case], function.upper[case]

    def search(self, found: list[_Tried], draw: Generator) -> tuple[Lowest, float]:
        """The lowest of all stages, and the largest gradient on the way."""
        samples = self.samples
        most = samples.at(torch.arange(min(_JUMPS, len(samples.points))))
        middle = (self.lower / 2 + self.upper / 2).unsqueeze(0)
        sampled = _Tried(samples.points, samples.cases, samples.margins, SAMPLE)
        corners = self._tried(self._corners(draw), CORNER)
        jumps = self._tried(torch.cat([_downhill(self.function, most), middle]), JUMP)
        found = [sampled, *found, corners, jumps]
        starts = torch.cat([sampled.best(_RESTARTS // 2), *(t.best(8) for t in found[1:])])
        excesses = self.function.case_excesses(self.case)
        box = (self.lower, self.upper)
        descent = descended(self.function.view, excesses, box, starts[:_RESTARTS], _STEPS)
        found.append(self._as_tried(descent.points, descent.margins, DESCENT))
        best = min((t.lowest() for t in found), key=lambda lowest: lowest.margin)
        starts = self._polishable(found)
        if not len(starts):
            return best, descent.steepest
        end = polished(self.function, self.case, starts, draw)
        if end.margin < best.margin:
            best = Lowest(end.margin, end.point, self.case, POLISH)
        return best, max(descent.steepest, end.steepest)

    def _polishable(self, found: list[_Tried]) -> Tensor:
        """The lowest points with a finite margin and gradient."""
        points = torch.cat([t.points for t in found])
        order = torch.cat([t.margins for t in found]).argsort(stable=True)[: 4 * _POLISHED]
        points = points[order]
        cases = torch.full((len(points),), self.case, device=points.device)
        margins, gradients = self.function.with_gradients(points, cases)
        usable = torch.isfinite(margins) & torch.isfinite(gradients.abs().sum(1))
        return points[usable][:_POLISHED]

    def _tried(self, points: Tensor, stage: str) -> _Tried:
        cases = torch.full((len(points),), self.case, device=points.device)
        return self._as_tried(points, self.function.values(points, cases), stage)

    def _as_tried(self, points: Tensor, margins: Tensor, stage: str) -> _Tried:
        cases = torch.full((len(points),), self.case, device=points.device)
        return _Tried(points, cases, margins, stage)

    def _corners(self, draw: Generator) -> Tensor:
        """All corners of a box with few free inputs, some of any other."""
        free = (self.upper > self.lower).nonzero().flatten()
        if len(free) <= _FEW_INPUTS:
            bits = np.array(list(itertools.product((False, True), repeat=len(free))), dtype=bool)
        else:
            bits = draw.integers(0, 2, size=(_CORNERS, len(free))).astype(bool)
        corners = self.lower.expand(len(bits), -1).clone()
        high = torch.from_numpy(bits.reshape(len(bits), len(free))).to(self.lower.device)
        corners[:, free] = torch.where(high, self.upper[free], self.lower[free])
        return corners
