"""What sound bounds say of a question: L_IBP, L_CROWN and the unstable units (Eqs. 11 and 12)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

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


@dataclass(frozen=True, eq=False)
class LinearView:
    """L_CROWN, and for every box [C, d] the slope of the linear function that bounds it worst."""

    floor: float
    slopes: Tensor


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
                floor = min(floor, _below(margin_floor(case.violation, lows, highs)))
            by_box, each = unstable(engine, values, tau)
            crossing += int(by_box.expand(len(cases)).sum())
            units += each * len(cases)
        return IntervalView(floor, crossing, units)

    def linear(self) -> LinearView:
        """L_CROWN: backward linear bounds with interval intermediates, slopes not optimised.

        What plain intervals know is never given up: the bound is the better of both.
        """
        floors, slopes = [], []
        for case in self.cases:
            box = self.engine.intervals.start(*enclosing_box(case.box))
            relaxed = self.engine.relaxed(box, refine=False)
            outputs = relaxed.values[self.network.output_name]
            ends = [end.reshape(-1).tolist() for end in (outputs.low, outputs.high)]
            floor, slope = self._lowest(relaxed, Excesses.of(case.violation))
            floors.append(max(floor, _below(margin_floor(case.violation, *ends))))
            slopes.append(slope)
        return LinearView(min(floors), torch.stack(slopes))

    def _lowest(self, relaxed: RelaxedNetwork, excesses: Excesses) -> tuple[float, Tensor]:
        """The least bound over the disjuncts, and the slope of the function that gives it."""
        sizes = relaxed.values[self.network.output_name].size.flatten(1)
        disjuncts, rows, outputs = excesses.coefficients.shape
        turn = max(1, _MOST_NUMBERS_AT_ONCE // (rows * self._widest))
        lowest, slope = math.inf, torch.zeros(self.network.inputs, dtype=torch.float64)
        for numbers in torch.split(torch.arange(disjuncts), turn):
            functional = excesses.coefficients[numbers].reshape(1, -1, outputs)
            found = improved(relaxed, relaxed.on_outputs(functional), steps=0, by_row=True)
            bounds = found.bound.reshape(len(numbers), rows)
            sized = sizes.expand(len(numbers), outputs)
            floors = excesses.floors(bounds, numbers, sized)
            first = int(floors.argmin())
            if float(floors[first]) < lowest:
                row = int((bounds[first] - excesses.thresholds[numbers[first]]).argmax())
                lowest = float(floors[first])
                slope = found.at_input.reshape(len(numbers), rows, -1)[first, row]
        return lowest, slope

    def _turns(self) -> Iterator[Sequence[Case]]:
        turn = max(1, _MOST_NUMBERS_AT_ONCE // self._widest)
        for start in range(0, len(self.cases), turn):
            yield self.cases[start : start + turn]


def _below(floor: Fraction | float) -> float:
    return floor if isinstance(floor, float) else float_below(floor)
