"""A real search for the least margin: corners, sign-gradient jumps, descent, then a polish.

What it finds is an upper bound of the true minimum, at a point that is returned; nothing is
claimed below it. Boxes with the lowest samples are searched first, and only a few of many.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.random import Generator
from torch import Tensor

from assay.bounds.descent import descended
from assay.difficulty.margin import MarginFunction
from assay.difficulty.polish import polished

STAGES = ("sample", "corner", "sign gradient", "descent", "polish")
_MOST_CASES = 4
_CORNERS = 256
_FEW_INPUTS = 8
"""Up to this many free inputs all corners are tried."""
_JUMPS = 64
_RESTARTS = 32
_STEPS = 40
_POLISHED = 2


@dataclass(frozen=True, eq=False)
class Lowest:
    """The least margin found, where, in which case of the question, and by which stage."""

    margin: float
    point: Tensor
    case: int
    stage: str


@dataclass(frozen=True, eq=False)
class Searched:
    """`steepest` is the largest sum of sizes of a margin gradient that the search met."""

    lowest: Lowest
    steepest: float


@dataclass(frozen=True, eq=False)
class _Candidates:
    points: Tensor
    margins: Tensor
    stage: str


def searched(
    function: MarginFunction,
    points: Tensor,
    cases: Tensor,
    margins: Tensor,
    gradients: Tensor,
    draw: Generator,
) -> Searched:
    """Search from samples with known margins and gradients."""
    first = int(margins.argmin())
    best = Lowest(float(margins[first]), points[first], int(cases[first]), STAGES[0])
    steepest = float(gradients.abs().sum(1).max())
    for case in _promising(cases, margins):
        rows = (cases == case).nonzero().flatten()
        found, slope = _search_case(
            function, case, points[rows], margins[rows], gradients[rows], draw
        )
        steepest = max(steepest, slope)
        if found.margin < best.margin:
            best = found
    return Searched(best, steepest)


def _promising(cases: Tensor, margins: Tensor) -> list[int]:
    """The cases in the order of their lowest sample."""
    order = cases[margins.argsort(stable=True)].tolist()
    return list(dict.fromkeys(order))[:_MOST_CASES]


def _search_case(
    function: MarginFunction,
    case: int,
    points: Tensor,
    margins: Tensor,
    gradients: Tensor,
    draw: Generator,
) -> tuple[Lowest, float]:
    lower, upper = function.lower[case], function.upper[case]

    def tried(points: Tensor, stage: str) -> _Candidates:
        cases = torch.full((len(points),), case, device=points.device)
        return _Candidates(points, function.values(points, cases), stage)

    samples = _Candidates(points, margins, STAGES[0])
    lowest = margins.argsort(stable=True)[:_JUMPS]
    jumps = torch.where(gradients[lowest] > 0, lower, upper)
    jumps = torch.where(gradients[lowest] == 0, points[lowest], jumps)
    found = [
        samples,
        tried(_corners(lower, upper, draw), STAGES[1]),
        tried(torch.cat([jumps, (lower / 2 + upper / 2).unsqueeze(0)]), STAGES[2]),
    ]
    starts = torch.cat(
        [_lowest(c, _RESTARTS // 2 if c is samples else _RESTARTS // 4) for c in found]
    )
    descent = descended(function.view, function.case_excesses(case), (lower, upper), starts, _STEPS)
    found.append(_Candidates(descent.points, descent.margins, STAGES[3]))
    best = _best(found, case)
    every = torch.cat([c.points for c in found]), torch.cat([c.margins for c in found])
    first = every[1].argsort(stable=True)[:_POLISHED]
    end = polished(function, case, every[0][first], draw)
    if end.margin < best.margin:
        best = Lowest(end.margin, end.point, case, STAGES[4])
    return best, max(descent.steepest, end.steepest)


def _corners(lower: Tensor, upper: Tensor, draw: Generator) -> Tensor:
    """All corners of a box with few free inputs, some of any other."""
    free = (upper > lower).nonzero().flatten()
    if len(free) <= _FEW_INPUTS:
        bits = np.array(list(itertools.product((False, True), repeat=len(free))), dtype=bool)
    else:
        bits = draw.integers(0, 2, size=(_CORNERS, len(free))).astype(bool)
    corners = lower.expand(len(bits), -1).clone()
    high = torch.from_numpy(bits.reshape(len(bits), len(free))).to(lower.device)
    corners[:, free] = torch.where(high, upper[free], lower[free])
    return corners


def _lowest(candidates: _Candidates, count: int) -> Tensor:
    return candidates.points[candidates.margins.argsort(stable=True)[:count]]


def _best(found: list[_Candidates], case: int) -> Lowest:
    best = Lowest(math.inf, found[0].points[0], case, STAGES[0])
    for candidates in found:
        row = int(candidates.margins.argmin())
        if float(candidates.margins[row]) < best.margin:
            best = replace(
                best,
                margin=float(candidates.margins[row]),
                point=candidates.points[row],
                stage=candidates.stage,
            )
    return best
