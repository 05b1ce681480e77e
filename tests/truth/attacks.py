"""Attacks on one question: random points, gradient descent, corners and local search.

Everything runs in float64 on the torch view, so what an attack reports is a candidate; `exact`
decides in rationals. An attack counts its evaluations, and keeps what it found lowest.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import torch
from tier import sized

from assay.question import vnnlib
from assay.question.exact import ExactFunction
from assay.question.network import load
from assay.question.region import Box
from assay.question.torch_view import torch_view
from assay.truth.instance import Instance

KEPT = 6


class Attack:
    """The state of an attack on a misclassification question with a single box."""

    def __init__(self, instance: Instance, seed: int) -> None:
        torch.set_num_threads(1)
        self.network = load(instance.onnx, instance.name)
        (case,) = vnnlib.read(instance.vnnlib.decode(), instance.name).cases
        self.box, self.violation = case.box, case.violation
        self.low = torch.tensor([float(v) for v in self.box.lower], dtype=torch.float64)
        self.high = torch.tensor([float(v) for v in self.box.upper], dtype=torch.float64)
        self.signs = torch.zeros(len(self.violation.disjuncts), self.violation.outputs).double()
        for row, ((inequality,)) in zip(self.signs, self.violation.disjuncts, strict=True):
            for index, coefficient in inequality.terms:
                row[index] = float(coefficient)
        self.view = torch_view(self.network, torch.float64)
        self.draw = torch.Generator().manual_seed(seed)
        self.evaluations = 0
        self.margins = torch.empty(0, dtype=torch.float64)
        self.points = torch.empty(0, len(self.low), dtype=torch.float64)

    def excesses(self, points: torch.Tensor) -> torch.Tensor:
        """For each point and each rival, by how much the label wins; remembers the lowest."""
        self.evaluations += len(points)
        excesses = self.view(points) @ self.signs.T
        margins, plain = excesses.detach().amin(dim=1), points.detach()
        lowest = margins.topk(min(KEPT, len(margins)), largest=False).indices
        margins = torch.cat([self.margins, margins[lowest]])
        plain = torch.cat([self.points, plain[lowest]])
        order = margins.argsort()[:KEPT]
        self.margins, self.points = margins[order], plain[order].clone()
        return excesses

    def uniform(self, count: int) -> torch.Tensor:
        share = torch.rand(count, len(self.low), generator=self.draw, dtype=torch.float64)
        return self.low + share * (self.high - self.low)

    def corners(self, count: int) -> torch.Tensor:
        return torch.where(self.uniform(count) > (self.low + self.high) / 2, self.high, self.low)

    def inside(self, points: torch.Tensor) -> torch.Tensor:
        return torch.minimum(torch.maximum(points, self.low), self.high)

    def slopes(self, points: torch.Tensor, *, targeted: bool) -> torch.Tensor:
        """Gradients of the margin, or of one rival's excess for each point in turn."""
        points = points.clone().requires_grad_()
        excesses = self.excesses(points)
        if targeted:
            rival = torch.arange(len(points)) % excesses.shape[1]
            loss = excesses.gather(1, rival[:, None]).sum()
        else:
            loss = excesses.amin(dim=1).sum()
        (slopes,) = torch.autograd.grad(loss, points)
        return slopes

    def descend(self, starts: torch.Tensor, steps: int, size: float, *, targeted: bool) -> None:
        """Projected signed gradients with steps that shrink from `size` box widths."""
        points, width = starts, (self.high - self.low) * size
        for number in range(steps):
            slopes = self.slopes(points, targeted=targeted)
            shrink = 0.5 ** (10 * number / steps)
            points = self.inside(points - width * shrink * slopes.sign())

    def jump(self, starts: torch.Tensor, steps: int) -> None:
        """From corner to the corner that the gradient points to."""
        points = starts
        for number in range(steps):
            slopes = self.slopes(points, targeted=number % 2 == 1)
            corners = torch.where(slopes > 0, self.low, self.high)
            points = torch.where(slopes == 0, points, corners)

    def flip(self, budget: int) -> None:
        """Greedy: of all corners that differ in one coordinate, go to the best, and repeat."""
        sweeps = max(budget // len(self.low), 1)
        starts = [torch.where(p > (self.low + self.high) / 2, 1, 0) for p in self.points[:3]]
        current, best = starts[0], torch.inf
        for _ in range(sweeps):
            flipped = current ^ torch.eye(len(self.low), dtype=current.dtype)
            points = torch.where(flipped == 1, self.high, self.low)
            margins = self.excesses(points).amin(dim=1)
            index = int(margins.argmin())
            if margins[index] < best:
                best, current = float(margins[index]), flipped[index]
            else:
                starts = [*starts[1:], self.corners(1)[0].eq(self.high).long()]
                current, best = starts[0], torch.inf

    def polish(self, rounds: int, count: int) -> None:
        """Random steps of many sizes from the lowest points, all or few coordinates at a time."""
        for number in range(rounds):
            base = self.points[torch.arange(count) % len(self.points)]
            size = (self.high - self.low) * 0.5 ** (1 + 24 * number / rounds)
            noise = torch.randn(base.shape, generator=self.draw, dtype=torch.float64)
            few = torch.rand(base.shape, generator=self.draw) < 4 / len(self.low)
            self.excesses(self.inside(base + size * noise * (few | (number % 2 == 0))))

    def exact(self) -> list[tuple[Fraction, tuple[Fraction, ...]]]:
        """The exact margins of the lowest points, moved inside the box exactly."""
        function = ExactFunction(self.network)
        points = [snapped(point.tolist(), self.box) for point in self.points]
        return [(self.violation.margin(function(point)), point) for point in points]


def snapped(point: Sequence[float], box: Box) -> tuple[Fraction, ...]:
    ends = zip(point, box.lower, box.upper, strict=True)
    return tuple(min(max(Fraction(value), low), high) for value, low, high in ends)


EVALUATIONS = sized(10_000, 100_000)
"""At least, of every attack on an instance."""


def attacked(instance: Instance, seed: int) -> Attack:
    """Every kind of attack; `make test-all` gives each many more starts."""
    attack, starts = Attack(instance, seed), sized(10, 100)
    with torch.no_grad():
        attack.excesses(attack.uniform(150 * starts))
        attack.excesses(attack.corners(100 * starts))
    for size in (0.5, 0.1, 0.02):
        for targeted in (False, True):
            spread = attack.corners(starts), attack.uniform(starts)
            attack.descend(torch.cat([attack.points, *spread]), 40, size, targeted=targeted)
    half = 5 * starts // 2
    attack.jump(torch.cat([attack.points, attack.corners(half), attack.uniform(half)]), 12)
    with torch.no_grad():
        attack.flip(sized(2_000, 8_000))
        attack.polish(24, 5 * starts)
    return attack


def float32_inside(points: np.ndarray, box: Box) -> np.ndarray:
    """Points rounded to float32 and kept in a box whose ends are float32 numbers."""
    low = np.array([float(v) for v in box.lower], dtype=np.float32)
    high = np.array([float(v) for v in box.upper], dtype=np.float32)
    return np.clip(points.astype(np.float32), low, high)
