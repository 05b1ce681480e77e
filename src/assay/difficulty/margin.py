"""The margin of a question as a batched function with gradients, over all of its boxes.

A question may ask about several boxes (cases), each with a violation of its own. Every point
belongs to one case; its margin is that of the case's violation: the least over the disjuncts of
the largest excess in each, so several competitor classes and general linear properties alike.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from torch import Tensor

from assay.bounds.inequalities import Excesses
from assay.bounds.rounding import LARGEST
from assay.errors import BadInput
from assay.question.directed import float_above, float_below
from assay.question.network import Network
from assay.question.property import Case, Violation
from assay.question.region import Box
from assay.question.torch_view import torch_view

_MOST_NUMBERS_AT_ONCE = 2**21
"""Numbers that one batch may keep for its gradients: 16 MiB, which caches still hold."""
_MOST_POINTS_AT_ONCE = 4096


class MarginFunction:
    """Margins and gradients in float64 at points [N, d] of cases [N]."""

    def __init__(
        self, network: Network, cases: tuple[Case, ...], device: torch.device | None = None
    ) -> None:
        self.network = network
        self.sha256 = network.sha256
        self.cases = asked_cases(cases, network.place)
        self.view = torch_view(network, torch.float64).to(device)
        self.lower, self.upper = inward_ends(self.cases, device)
        self.free = self.upper > self.lower
        """Inputs that each box lets vary; along the others there is no gradient to speak of."""
        distinct = list(dict.fromkeys(case.violation for case in self.cases))
        self.excesses = [excesses_of(network.place, violation, device) for violation in distinct]
        number = [distinct.index(case.violation) for case in self.cases]
        self.violation = torch.tensor(number, device=device)
        self.numbers = sum(tensor_sizes(network))
        """That one point needs, all tensors together."""
        room = _MOST_NUMBERS_AT_ONCE // self.numbers
        self._at_once = max(1, min(_MOST_POINTS_AT_ONCE, room))

    def values(self, points: Tensor, cases: Tensor) -> Tensor:
        """Margins [N]; infinite where the network is not defined, so that no search goes there."""
        with torch.no_grad():
            parts = [self._margins(points[rows], cases[rows]) for rows in self._batches(points)]
        found = torch.cat(parts)
        return torch.where(torch.isfinite(found), found, math.inf)

    def with_gradients(self, points: Tensor, cases: Tensor) -> tuple[Tensor, Tensor]:
        """Margins [N] and gradients [N, d], zero along inputs that are fixed."""
        margins, gradients = [], []
        for rows in self._batches(points):
            batch = points[rows].detach().requires_grad_()
            with torch.enable_grad():
                found = self._margins(batch, cases[rows])
            slope = torch.zeros_like(batch)
            if found.requires_grad:
                (slope,) = torch.autograd.grad(found.sum(), batch)
            margins.append(found.detach())
            gradients.append(torch.where(self.free[cases[rows]], slope, 0.0))
        return torch.cat(margins), torch.cat(gradients)

    def case_excesses(self, case: int) -> Excesses:
        return self.excesses[int(self.violation[case])]

    def _margins(self, points: Tensor, cases: Tensor) -> Tensor:
        outputs = self.view(points)
        if len(self.excesses) == 1:
            return _margin(self.excesses[0], outputs)
        which = self.violation[cases]
        numbers = sorted(set(which.tolist()))
        rows = [(which == number).nonzero().flatten() for number in numbers]
        parts = [
            _margin(self.excesses[number], outputs[mine])
            for number, mine in zip(numbers, rows, strict=True)
        ]
        return torch.cat(parts)[torch.cat(rows).argsort()]

    def _batches(self, points: Tensor) -> Iterator[slice]:
        for start in range(0, len(points), self._at_once):
            yield slice(start, start + self._at_once)


def tensor_sizes(network: Network) -> list[int]:
    """How many numbers each tensor holds that depends on the input."""
    return [math.prod(s) for n, s in network.shapes.items() if n not in network.initializers]


def _margin(excesses: Excesses, outputs: Tensor) -> Tensor:
    return excesses.at(outputs).amax(2).amin(1)


def asked_cases(cases: tuple[Case, ...], place: str) -> tuple[Case, ...]:
    """The cases in which something is asked about the outputs."""
    found = tuple(case for case in cases if case.violation.disjuncts)
    if not found:
        raise BadInput(f"{place}: nothing is asked about its outputs; state a property")
    return found


def excesses_of(place: str, violation: Violation, device: torch.device | None = None) -> Excesses:
    found = Excesses.of(violation, device)
    finite = torch.isfinite(found.coefficients).all() & torch.isfinite(found.thresholds).all()
    if not bool(finite):
        raise BadInput(f"{place}: the property has numbers beyond float64; scale it down")
    return found


def inward_ends(
    cases: tuple[Case, ...], device: torch.device | None = None
) -> tuple[Tensor, Tensor]:
    """The ends of every box, rounded inwards, [cases, inputs] each."""
    ends = [_inward(case.box) for case in cases]
    lower = torch.tensor([low for low, _ in ends], dtype=torch.float64, device=device)
    return lower, torch.tensor([high for _, high in ends], dtype=torch.float64, device=device)


def _inward(box: Box) -> tuple[list[float], list[float]]:
    """The largest float64 box inside an exact one; where there is none, its nearest numbers."""
    lows, highs = [], []
    for low, high in zip(box.lower, box.upper, strict=True):
        inner = float_above(low), float_below(high)
        if inner[0] > inner[1]:
            inner = (float_below(low),) * 2 if low == high else (inner[1], inner[1])
        lows.append(min(max(inner[0], -LARGEST), LARGEST))
        highs.append(min(max(inner[1], -LARGEST), LARGEST))
    return lows, highs
