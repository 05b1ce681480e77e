"""Sampling of what a count left undecided, added to what it proved.

A cell is drawn with the probability of its share, in integers, and a point of it uniformly. What
lies beneath the cell's known plane violates for sure and its volume is known, so a point counts
only where it violates and lies above. With S the share of the undecided cells and p the
probability of that, the rate is what is proved of the closed cells, plus the volumes beneath the
planes, plus S p; and p has the exact interval of Clopper and Pearson. A violation at a point is
decided with all rounding accounted for; a point too close to call counts as a violation for the
upper end only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import torch
from torch import Tensor

from assay.analyse.binomial import clopper_pearson
from assay.analyse.count.cells import QUANTA, Cells
from assay.analyse.count.counting import Search
from assay.analyse.randomness import stream_key
from assay.bounds.inequalities import Excesses
from assay.bounds.interval import IntervalNetwork
from assay.bounds.rounding import TINY, UNIT, gamma
from assay.bounds.rows import as_rows

_BLOCK = 4096
_WHOLE = 1 << QUANTA
_FOR_PILOT = 1 / 16
"""The share of the time left that a pilot takes, or one block."""
_SURELY = 0.9
"""The share of the time after the pilot for which blocks are planned."""
_AMPLE = 4
"""The pilot ends where there seems to be time for so many times what is asked."""


@dataclass(frozen=True)
class Sampled:
    """The rate lies in [lower, upper] with probability `confidence` (and in the proved bounds).

    Of `samples` points `violations` violate above their plane; `doubtful` are too close to call.
    `asked` is how many were wanted: the time may end before.
    """

    lower: Fraction
    upper: Fraction
    samples: int
    asked: int
    violations: int
    doubtful: int
    confidence: float
    seed: int


def sample_undecided(search: Search) -> Sampled | None:
    """Draw as many points as the settings of a finished count say; None if nothing is left.

    If the time may not suffice, a pilot says how many blocks of points it lasts for. How long a
    block takes depends on its points, so the pilot has points of its own, which count for nothing.
    The number of points is thus fixed before the first of them is drawn, and independent of them:
    given that number the violations are binomial, and the interval holds as stated. The clock is
    not looked at again, so that the command may take a little longer.
    """
    settings, cells = search.settings, search.cells
    if not settings.samples or cells is None or not len(cells):
        return None
    judge = _Judge(search, cells)
    blocks = min(-(-settings.samples // _BLOCK), _blocks_in_time(search, judge))
    drawn = min(settings.samples, blocks * _BLOCK)
    violations = doubtful = 0
    for block in range(blocks):
        size = min(_BLOCK, drawn - block * _BLOCK)
        sure, close = judge.block(stream_key("count", settings.seed), block, size)
        violations, doubtful = violations + sure, doubtful + close
    lower, _ = clopper_pearson(violations, drawn, settings.confidence)
    _, upper = clopper_pearson(violations + doubtful, drawn, settings.confidence)
    low, high = _together(search, cells, (float(lower), float(upper)))
    return Sampled(
        low,
        high,
        drawn,
        settings.samples,
        violations,
        doubtful,
        settings.confidence,
        settings.seed,
    )


def _blocks_in_time(search: Search, judge: _Judge) -> int:
    """How many blocks to draw by what a pilot took, at least one."""
    key = stream_key("count pilot", search.settings.seed)
    begun = now = search.clock()
    wanted, pilot = -(-search.settings.samples // _BLOCK), 0
    if wanted == 1:
        return 1
    while now < begun + _FOR_PILOT * (search.deadline - begun):
        judge.block(key, pilot, _BLOCK)
        pilot += 1
        now = search.clock()
        if (search.deadline - now) * pilot > _AMPLE * wanted * (now - begun):
            return wanted
    if not pilot or now <= begun:
        return 1
    return max(1, int(_SURELY * (search.deadline - now) * pilot / (now - begun)))


class _Judge:
    """Random points of the undecided cells, and which of them violate above their planes."""

    def __init__(self, search: Search, cells: Cells) -> None:
        violation = search.case.violation
        self._grid, self._cells = search.grid, cells
        self._network = IntervalNetwork(search.network)
        self._excesses = Excesses.of(violation)
        self._stated = [len(d) for d in violation.disjuncts]
        self._ends = cells.quanta.cumsum(0).numpy()

    def block(self, key: Sequence[int], number: int, size: int) -> tuple[int, int]:
        """How many of the first points of a block violate for sure, and are too close to call."""
        seeds = np.random.SeedSequence(key, spawn_key=(number,))
        draw = np.random.Generator(np.random.SFC64(seeds))
        cell = np.searchsorted(self._ends, draw.integers(0, self._ends[-1], _BLOCK), side="right")
        place = torch.from_numpy(draw.random((_BLOCK, self._cells.corner.shape[1]))) * 2 - 1
        chosen, place = self._cells.at(torch.from_numpy(cell)[:size]), place[:size]
        above = (chosen.plane[:, :-1] * place).sum(1) + chosen.plane[:, -1] > 0
        points = self._grid.points(chosen.corner, chosen.size, place)[above]
        sure, possible = _violating(self._network, self._excesses, self._stated, points)
        return int(sure.sum()), int((possible & ~sure).sum())


def _together(search: Search, cells: Cells, rate: tuple[float, float]) -> tuple[Fraction, Fraction]:
    """Bounds of the whole rate from those of what the samples show, and what is proved."""
    low, high = search.sums
    share = int(cells.quanta.sum())
    low += int((cells.inner_low - cells.low).sum()) + int(Fraction(rate[0]) * share)
    high += int((cells.inner_high - cells.high).sum()) - int(-Fraction(rate[1]) * share // 1)
    proved = search.bounds
    low, high = max(low, proved[0]), min(high, proved[1])
    if low > high:  # the samples were among the few that mislead, as the proof shows
        low, high = proved
    return Fraction(low, _WHOLE), Fraction(high, _WHOLE)


def _violating(
    network: IntervalNetwork, excesses: Excesses, stated: list[int], points: Tensor
) -> tuple[Tensor, Tensor]:
    """Where the violation surely and possibly holds, [N] each."""
    sure = possible = torch.zeros(len(points), dtype=torch.bool)
    if not len(points):
        return sure, possible
    found = network.propagate(network.start(points, points))[network.network.output_name]
    centre, radius = (as_rows(t) for t in found.ball())
    outputs = centre.shape[1]
    size = centre.abs() + radius
    for number, count in enumerate(stated):
        rows = excesses.coefficients[number, :count]
        thresholds = excesses.thresholds[number, :count]
        middle = centre @ rows.T - thresholds
        lost = radius @ rows.abs().T + size @ excesses.residues[number, :count].T
        rounding = gamma(outputs + 8) * (size @ rows.abs().T + thresholds.abs()) + TINY
        lost = lost * (1 + gamma(outputs + 8)) + rounding + 4 * UNIT * thresholds.abs()
        sure = sure | (middle + lost <= 0).all(1)
        possible = possible | ~(middle - lost > 0).any(1)
    return sure, possible
