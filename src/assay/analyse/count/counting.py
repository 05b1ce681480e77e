"""Branch and bound of a violation rate: lower and upper bounds that are proved at any moment.

The cells of the box that are least known are halved again and again; linear bounds put the
boundary of the violation in each between two planes, whose shares of the cell are known in closed
form. Sums are of integers and every rounding is outward, so that the rate lies between the two
bounds for the real function of the network's weights, on the box as the text writes it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Literal

import torch
from torch import Tensor

from assay.analyse.count.cells import MOST_HALVINGS, QUANTA, Cells, Grid, joined, quanta
from assay.analyse.count.chain_planes import ChainBounder
from assay.analyse.count.exact_cells import ExactCells
from assay.analyse.count.halfspace import MOST_COORDINATES
from assay.analyse.count.planes import Bounder
from assay.analyse.count.relu_chain import ReluChain
from assay.analyse.count.settings import Settings
from assay.bounds.one_thread import one_thread
from assay.errors import Unsupported
from assay.question.asked import refuse_misfits
from assay.question.network import Network
from assay.question.point_evaluation import PointEvaluation
from assay.question.property import Case

Ending = Literal["gap", "time", "cells", "all", "interrupted"]
ENDINGS: dict[Ending, str] = {
    "gap": "the gap is reached",
    "time": "the time is over",
    "cells": "the undecided cells fill the memory allowed",
    "all": "nothing is left that halving would narrow",
    "interrupted": "it was stopped",
}
_WHOLE = 1 << QUANTA
_CLOSED_WITHIN = 2.0**-40
"""A cell is closed when its share of violations is known within this."""
_MOST_VAIN_LOOKS = 50
"""In a row; then cells are no longer looked at exactly."""
_FREE_LOOKS = 32
"""So many cells are looked at exactly although their share is known up to rounding."""
_SWEEP = 8
"""At least one of so many open cells is halved before they are ordered again."""
_MUCH = 16
"""Of those, only cells whose gap is not below the greatest divided by this."""
_MOST_LEFT = 0.7
"""Where more pieces than this share stay open, cells are halved several times at once: bounding
what lies in between, and will be halved again anyway, would be in vain."""


@dataclass(frozen=True)
class Counted:
    """The rate lies in [lower, upper]; `boxes` were bounded, `undecided` cells are left.

    `undecided_share` is the part of the box that they fill.
    """

    lower: Fraction
    upper: Fraction
    boxes: int
    undecided: int
    undecided_share: Fraction
    ending: Ending
    seconds: float
    cpu_seconds: float

    @property
    def gap(self) -> Fraction:
        return self.upper - self.lower


def count(
    network: Network, case: Case, settings: Settings | None = None, *, jobs: int = 1
) -> Counted:
    """Bounds of the share of the case's box on which its violation holds."""
    return Search(network, case, settings or Settings()).run(jobs=jobs)


class Search:
    """One count. It may be stopped anywhere: what is proved so far stands."""

    def __init__(
        self,
        network: Network,
        case: Case,
        settings: Settings,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        refuse_misfits(network, [case])
        self.clock = clock
        self.network, self.case, self.settings = network, case, settings
        self.grid = Grid.of(case.box)
        if len(self.grid.moving) > MOST_COORDINATES:
            raise Unsupported(
                f"{network.place}: {len(self.grid.moving)} inputs differ within the box, and "
                f"counting by halving boxes takes at most {MOST_COORDINATES}; use assay weakened, "
                "which samples"
            )
        self.cells: Cells | None = None
        """The cells that halving may narrow, after `run`."""
        self.bounds = (0, _WHOLE)
        self.boxes = 0
        self._vain_looks = 0
        self._free_looks = _FREE_LOOKS
        self._known = _Known(0, _WHOLE, _WHOLE, 1)
        self._ending: Ending = "interrupted"
        self._begun = self._clocks()
        self._most_cells = settings.most_cells
        self._ended: tuple[float, float] | None = None

    @cached_property
    def exact(self) -> ExactCells:
        return ExactCells(self.network, self.case, self.grid)

    @property
    def sums(self) -> tuple[int, int]:
        """Quanta that surely and possibly violate, by all cells as they are now."""
        return self._known.low, self._known.high

    @property
    def so_far(self) -> Counted:
        low, high = self.bounds
        now = self._ended or self._clocks()
        # Bounds that meet leave nothing undecided, whatever they say of single cells.
        cells, quanta_left = (self._known.cells, self._known.quanta) if low < high else (0, 0)
        return Counted(
            Fraction(low, _WHOLE),
            Fraction(high, _WHOLE),
            self.boxes,
            cells,
            Fraction(quanta_left, _WHOLE),
            self._ending,
            now[0] - self._begun[0],
            now[1] - self._begun[1],
        )

    def run(self, heard: Callable[[Counted], None] | None = None, *, jobs: int = 1) -> Counted:
        """Halve cells until the settings say stop; `heard` is told after every batch.

        `jobs` threads bound batches side by side; the result does not depend on them.
        """
        known = self._without_halving()
        if known is not None:
            self._learn(known)
            return self._finished("all")
        with one_thread(), ThreadPoolExecutor(jobs) as pool:
            self._halve(pool, jobs, heard or (lambda _: None))
        return self._finished(self._stop() or "all")

    def _halve(self, pool: ThreadPoolExecutor, jobs: int, heard: Callable[[Counted], None]) -> None:
        bounder = self._bounder()
        root = self._looked_at(bounder.root())
        self._most_cells = self.settings.cells_in_memory(root.bytes_each)
        self.boxes = 1
        cells = root.at(_open(root))
        self._learn(_Known.of(root, cells))
        halvings = 1
        while len(cells) and self._stop() is None:
            batch = max(1, bounder.at_once >> halvings)
            chosen, rest = _chosen(cells, batch)
            parts = [cells.at(rest)]
            waiting = [cells.at(number) for number in torch.split(chosen, batch)]
            cells = parts[0]  # the others live on in `waiting` alone
            made = left = 0
            while waiting and self._stop() is None:
                at_once, waiting = waiting[:jobs], waiting[jobs:]
                found = pool.map(lambda p, k=halvings: bounder.children(p, k), at_once)
                for parents, children in zip(at_once, list(found), strict=True):
                    # The answer must not depend on how many were bounded side by side.
                    if self._stop() == "gap":
                        parts.append(parents)
                        continue
                    parts.append(self._replaced(parents, children))
                    made, left = made + len(children), left + len(parts[-1])
                heard(self.so_far)
            cells = joined([*parts, *waiting])
            del parts, waiting
            halvings = MOST_HALVINGS if left > _MOST_LEFT * made else max(1, halvings - 1)
        self.cells = cells

    def _bounder(self) -> Bounder | ChainBounder:
        violation, numbers = self.case.violation, self.settings.numbers_at_once
        chain = ReluChain.of(self.network, self.grid, violation)
        if chain is None:
            until = time.monotonic() + self.settings.halving_seconds
            return Bounder(self.network, self.grid, violation, numbers, until)
        return ChainBounder(chain, self.grid, violation, numbers)

    def _finished(self, ending: Ending) -> Counted:
        self._ending, self._ended = ending, self._clocks()
        return self.so_far

    def _replaced(self, parents: Cells, children: Cells) -> Cells:
        """The open ones among the halves; everything is accounted for."""
        children = self._looked_at(children)
        open_ = children.at(_open(children))
        self.boxes += len(children)
        self._learn(self._known.replacing(_Known.of(parents, parents), _Known.of(children, open_)))
        return open_

    def _looked_at(self, cells: Cells) -> Cells:
        """The cells with those settled that an exact look settles."""
        numbers = cells.suspect.nonzero().flatten().tolist()
        if len(numbers) < self._free_looks:
            # A rate such as 1/2 shall come out as that, where it costs nothing.
            closed = cells.gap > 0
            closed[_open(cells)] = False
            more = (closed & ~cells.suspect).nonzero().flatten().tolist()
            numbers += more[: self._free_looks - len(numbers)]
        self._free_looks -= min(self._free_looks, len(numbers))
        low, high = cells.low.clone(), cells.high.clone()
        for number in numbers:
            if self._vain_looks >= _MOST_VAIN_LOOKS or self._out_of_time:
                break
            size = cells.size[number]
            must, may = self.exact.share(cells.corner[number], size)
            self._vain_looks = self._vain_looks + 1 if (must, may) == (0, 1) else 0
            ends = (torch.tensor([end], dtype=size.dtype) for end in (must, may))
            least, most = (
                int(quanta(end, size.unsqueeze(0), up=up))
                for end, up in zip(ends, (False, True), strict=True)
            )
            low[number] = max(int(low[number]), least)
            high[number] = min(int(high[number]), most)
        return replace(cells, low=low, high=high)

    def _learn(self, known: _Known) -> None:
        """What was proved before stays so, should the halves be bounded less well."""
        self._known = known
        self.bounds = (max(self.bounds[0], known.low), min(self.bounds[1], known.high))

    def _stop(self) -> Ending | None:
        if self.bounds[1] - self.bounds[0] <= int(self.settings.gap * _WHOLE):
            return "gap"
        if self._out_of_time:
            return "time"
        return "cells" if self._known.cells >= self._most_cells else None

    @property
    def deadline(self) -> float:
        """When all is over, samples too, by the clock."""
        return self._begun[0] + self.settings.seconds

    @property
    def _out_of_time(self) -> bool:
        return self.clock() - self._begun[0] >= self.settings.halving_seconds

    def _clocks(self) -> tuple[float, float]:
        return self.clock(), time.process_time()

    def _without_halving(self) -> _Known | None:
        """A violation that always or never holds, and a box that is one point."""
        disjuncts = self.case.violation.disjuncts
        if not disjuncts or not all(disjuncts):
            always = _WHOLE if disjuncts else 0
            return _Known(always, always, 0, 0)
        if len(self.grid.moving):
            return None
        point = PointEvaluation(self.network, self.case.box.lower)
        low, high = point.margin(self.case.violation) or (-math.inf, math.inf)
        kept, violated = low > 0, high <= 0
        return _Known(_WHOLE * violated, _WHOLE * (not kept), 0, 0)


@dataclass(frozen=True)
class _Known:
    """Quanta of the box that surely and possibly violate, and what the open cells fill."""

    low: int
    high: int
    quanta: int
    cells: int

    @classmethod
    def of(cls, cells: Cells, open_: Cells) -> _Known:
        low, high, quanta = (int(t.sum()) for t in (cells.low, cells.high, open_.quanta))
        return cls(low, high, quanta, len(open_))

    def replacing(self, old: _Known, new: _Known) -> _Known:
        return _Known(
            self.low - old.low + new.low,
            self.high - old.high + new.high,
            self.quanta - old.quanta + new.quanta,
            self.cells - old.cells + new.cells,
        )


def _open(cells: Cells) -> Tensor:
    """The numbers of the cells that are worth halving."""
    known = cells.gap.double() <= _CLOSED_WITHIN * cells.quanta.double()
    return (~known & (cells.axes[:, 0] >= 0)).nonzero().flatten()


def _chosen(cells: Cells, batch: int) -> tuple[Tensor, Tensor]:
    """The numbers of the cells to halve next, widest gaps first, and of the others."""
    gap = cells.gap
    best = gap.topk(min(len(cells), max(batch, len(cells) // _SWEEP)))
    chosen = best.indices[best.values >= best.values[0] // _MUCH]
    # Cells of like cost side by side, so that none waits for a larger one in its batch.
    chosen = chosen[cells.load[chosen].sort(stable=True).indices]
    others = torch.ones(len(cells), dtype=torch.bool)
    others[chosen] = False
    return chosen, others.nonzero().flatten()
