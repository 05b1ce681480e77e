"""What sound bounds say of a question: L_IBP, L_CROWN and the unstable units (Eqs. 11 and 12)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from assay.bounds.ascent import improved
from assay.bounds.inequalities import Excesses
from assay.bounds.interval import enclosing_box
from assay.bounds.interval_margin import margin_floor
from assay.bounds.linear import LinearNetwork
from assay.bounds.relaxed_network import RelaxedNetwork
from assay.difficulty.margin import tensor_sizes
from assay.difficulty.slope_variation import unstable
from assay.question.directed import float_below
from assay.question.network import Network
from assay.question.property import Case

_MOST_NUMBERS_AT_ONCE = 2**22
"""In the widest tensor of a batch of boxes, or of functionals."""


@dataclass(frozen=True)
class IntervalView:
    """L_IBP, the coordinates whose slope varies on some box, and all nonlinear coordinates."""

    floor: float
    unstable: int
    units: int

    @property
    def unstable_fraction(self) -> float:
        """U of Eq. 12; a network without nonlinear units has none unstable."""
        return self.unstable / self.units if self.units else 0.0


class Looseness:
    """Bounds in float64 with outward rounding, always on the processor.

    A question of several boxes has the least bound of all of them, and its units are counted in
    every box: a verifier meets each box on its own.
    """

    def __init__(self, network: Network, cases: Sequence[Case]) -> None:
        self.network, self.cases = network, cases
        self.engine = LinearNetwork(network)
        self._widest = max(tensor_sizes(network))

    def interval(self, tau: float) -> IntervalView:
        engine = self.engine.intervals
        floor, crossing, units = math.inf, 0, 0
        for cases in self._turns():
            ends = [enclosing_box(case.box) for case in cases]
            lower, upper = (torch.cat(part) for part in zip(*ends, strict=True))
            values = engine.propagate(engine.start(lower, upper))
            outputs = values[self.network.output_name]
            shape = (len(cases), self.network.outputs)
            low, high = (
                end.flatten(1).expand(shape).tolist() for end in (outputs.low, outputs.high)
            )
            for case, lows, highs in zip(cases, low, high, strict=True):
                found = margin_floor(case.violation, lows, highs)
                floor = min(floor, found if isinstance(found, float) else float_below(found))
            by_box, each = unstable(engine, values, tau)
            crossing += int(by_box.expand(len(cases)).sum())
            units += each * len(cases)
        return IntervalView(floor, crossing, units)

    def linear(self) -> float:
        """L_CROWN: backward linear bounds with interval intermediates, slopes not optimised."""
        floor = math.inf
        for case in self.cases:
            box = self.engine.intervals.start(*enclosing_box(case.box))
            relaxed = self.engine.relaxed(box, refine=False)
            floor = min(floor, self._floor(relaxed, Excesses.of(case.violation)))
        return floor

    def _floor(self, relaxed: RelaxedNetwork, excesses: Excesses) -> float:
        sizes = relaxed.values[self.network.output_name].size.flatten(1)
        disjuncts, rows, outputs = excesses.coefficients.shape
        turn = max(1, _MOST_NUMBERS_AT_ONCE // (rows * self._widest))
        floors: list[Tensor] = []
        for numbers in torch.split(torch.arange(disjuncts), turn):
            functional = excesses.coefficients[numbers].reshape(1, -1, outputs)
            bound = improved(relaxed, relaxed.on_outputs(functional), steps=0, by_row=True).bound
            sized = sizes.expand(len(numbers), outputs)
            floors.append(excesses.floors(bound.reshape(len(numbers), rows), numbers, sized))
        return float(torch.cat(floors).min())

    def _turns(self) -> Iterator[Sequence[Case]]:
        turn = max(1, _MOST_NUMBERS_AT_ONCE // self._widest)
        for start in range(0, len(self.cases), turn):
            yield self.cases[start : start + turn]
