"""Inputs that violate a property: sought by gradients in float64, believed only when certain.

A point counts as a witness when it lies in the exact box and the violation holds there for the
real function: by interval bounds at the point, or where these are too coarse in exact rationals.
"""

from __future__ import annotations

import math
from fractions import Fraction

import torch
from torch import Tensor

from assay.bounds.descent import descended
from assay.bounds.inequalities import Excesses
from assay.bounds.interval import IntervalNetwork, enclosing_box
from assay.bounds.rounding import LARGEST
from assay.errors import AssayError
from assay.question.exact import EXACT_OPERATORS, ExactFunction
from assay.question.network import Network
from assay.question.property import Case
from assay.question.region import Box
from assay.question.torch_view import torch_view

Witness = tuple[Fraction, ...]
_STARTS = 64
_STEPS = 60
_TRIED = 4
_NEARLY, _CLEARLY = 1e-13, 1e-9
"""Relative to the outputs: how close to a violation is worth an exact look, how far past it is
enough to stop looking for more."""


class Falsifier:
    """Looks for witnesses of one case; reproducible for a seed."""

    def __init__(self, network: Network, case: Case, excesses: Excesses, seed: int) -> None:
        self.network, self.case, self.excesses = network, case, excesses
        device = excesses.coefficients.device
        # Beyond the range of float64 there are no points to try.
        self.lower, self.upper = (
            end[0].clamp(min=-LARGEST, max=LARGEST) for end in enclosing_box(case.box, device)
        )
        self.view = torch_view(network, torch.float64).to(device)
        self.intervals = IntervalNetwork(network, device)
        self.exact: ExactFunction | None = None
        if network.operators <= set(EXACT_OPERATORS):
            self.exact = ExactFunction(network)
        self.draw = torch.Generator(device).manual_seed(seed)

    def attack(self) -> Witness | None:
        """Projected gradients from the centre, random points and random corners."""
        count = min(4 * _STARTS, max(_STARTS, 2 * len(self.excesses.thresholds)))
        size = (count, len(self.lower))
        share = torch.rand(size, generator=self.draw, dtype=torch.float64, device=self.lower.device)
        share[1::2] = share[1::2].round()
        share[0] = 0.5
        return self.witness(self.descended(self._inside(share), _STEPS))

    def descended(self, points: Tensor, steps: int) -> Tensor:
        """Where signed gradient steps lead each point, until one is clearly past the margin."""

        def past(margins: Tensor, outputs: Tensor) -> bool:
            return bool((margins < -_CLEARLY * self._scale(outputs)).any())

        box = (self.lower, self.upper)
        return descended(self.view, self.excesses, box, points, steps, past).points

    def witness(self, points: Tensor) -> Witness | None:
        """The first of the most promising points that certainly violates, made exact."""
        with torch.no_grad():
            outputs = self.view(points)
            margins = self.excesses.at(outputs).amax(2).amin(1)
        promising = margins <= _NEARLY * self._scale(outputs)
        order = torch.argsort(torch.where(promising, margins, math.inf))
        for index in order[: min(_TRIED, int(promising.sum()))].tolist():
            for candidate in _exact_points(points[index], self.case.box):
                if self.violates(candidate):
                    return candidate
        return None

    def violates(self, point: Witness) -> bool:
        """Whether the violation certainly holds at a point of the box."""
        if not self.case.box.contains(point):
            return False
        device = self.lower.device
        box = self.intervals.start(*enclosing_box(Box(point, point), device))
        found = self.intervals.propagate(box)[self.network.output_name]
        ends = list(zip(found.low.flatten().tolist(), found.high.flatten().tolist(), strict=True))
        if all(math.isfinite(v) for pair in ends for v in pair):
            for disjunct in self.case.violation.disjuncts:
                if all(_highest(i.terms, ends) <= i.bound for i in disjunct):
                    return True
        if self.exact is None:
            return False
        try:
            return self.case.violation.margin(self.exact(point)) <= 0
        except AssayError:
            return False

    def _scale(self, outputs: Tensor) -> Tensor:
        """The size of what the margins are differences of."""
        return outputs.abs() @ self.excesses.coefficients.abs().amax((0, 1))

    def _inside(self, share: Tensor) -> Tensor:
        # Written so that a share of one gives the upper bound itself.
        return self.lower * (1 - share) + self.upper * share


def _highest(terms: tuple[tuple[int, Fraction], ...], ends: list[tuple[float, float]]) -> Fraction:
    return sum((c * Fraction(ends[i][1 if c > 0 else 0]) for i, c in terms), start=Fraction(0))


def _exact_points(point: Tensor, box: Box) -> list[Witness]:
    """The point in float32 where the box has room for that, and as it is; both inside the box."""
    values = point.tolist()
    plain = box.nearest(values)
    single = box.nearest_float32(values)
    return [single] if single == plain else [single, plain]
