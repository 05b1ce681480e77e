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

    Blocks are drawn until the time is over, but one at least. When that is depends on the clock and
    not on what was found, so the interval holds for however many there are.
    """
    settings, cells = search.settings, search.cells
    if not settings.samples or cells is None or not len(cells):
        return None
    network = IntervalNetwork(search.network)
    excesses = Excesses.of(search.case.violation)
    stated = [len(d) for d in search.case.violation.disjuncts]
    ends = cells.quanta.cumsum(0).numpy()
    key = stream_key("count", settings.seed)
    violations = doubtful = drawn = 0
    for block in range(-(-settings.samples // _BLOCK)):
        draw = np.random.Generator(np.random.SFC64(np.random.SeedSequence(key, spawn_key=(block,))))
        number = np.searchsorted(ends, draw.integers(0, ends[-1], _BLOCK), side="right")
        place = torch.from_numpy(draw.random((_BLOCK, cells.corner.shape[1]))) * 2 - 1
        size = min(_BLOCK, settings.samples - block * _BLOCK)
        chosen, place = cells.at(torch.from_numpy(number)[:size]), place[:size]
        above = (chosen.plane[:, :-1] * place).sum(1) + chosen.plane[:, -1] > 0
        points = search.grid.points(chosen.corner, chosen.size, place)[above]
        sure, possible = _violating(network, excesses, stated, points)
        violations += int(sure.sum())
        doubtful += int((possible & ~sure).sum())
        drawn += size
        if search.clock() >= search.deadline:
            break
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
