"""A falsifier only: multi-restart gradient descent on the margin, validated in exact rationals."""

from __future__ import annotations

import time
from fractions import Fraction

import numpy as np
import torch

from assay.judge.task import Answer
from assay.question.exact import ExactFunction
from assay.question.network import Network
from assay.question.property import Case, Specification
from assay.question.torch_view import torch_view
from assay.question.vnnlib import decimal

_RESTARTS = 64
_STEPS = 60
_MOST_ROUNDS = 200


def answer(network: Network, specification: Specification, seconds: float) -> Answer:
    """Never says robust. Rounds of restarts until a violation is exact or time is nearly up."""
    deadline = time.monotonic() + 0.5 * seconds
    view, exact = torch_view(network, torch.float64), ExactFunction(network)
    draw = np.random.default_rng(0)
    for _ in range(_MOST_ROUNDS):
        for case in specification.cases:
            witness = _descend(view, case, draw)
            if case.violation.margin(exact(witness)) <= 0:
                return Answer("violated", tuple(decimal(v) for v in witness))
        if time.monotonic() > deadline:
            break
    return Answer("unknown")


def _descend(view: torch.nn.Module, case: Case, draw: np.random.Generator) -> list[Fraction]:
    """The input with the lowest margin that one round of restarts meets, exactly in the box."""
    low = torch.tensor([float(v) for v in case.box.lower], dtype=torch.float64)
    high = torch.tensor([float(v) for v in case.box.upper], dtype=torch.float64)
    shares = torch.tensor(draw.uniform(size=(_RESTARTS, len(low))))
    points = low + shares * (high - low)
    best, where = float("inf"), points[0]
    for step in range(_STEPS):
        points = points.detach().requires_grad_(True)
        margins = _margins(view(points), case)
        index = int(margins.argmin())
        lowest = float(margins[index].detach())
        if lowest < best:
            best, where = lowest, points[index].detach()
        (slope,) = torch.autograd.grad(margins.sum(), points)
        size = 0.25 * 0.94**step * (high - low)
        points = torch.minimum(torch.maximum(points - size * slope.sign(), low), high)
    ends = zip(case.box.lower, where.tolist(), case.box.upper, strict=True)
    return [min(max(Fraction(value), a), b) for a, value, b in ends]


def _margins(outputs: torch.Tensor, case: Case) -> torch.Tensor:
    """min over disjuncts of the largest excess, for each row."""
    columns = []
    for disjunct in case.violation.disjuncts:
        excess = []
        for inequality in disjunct:
            total = -float(inequality.bound) * torch.ones(len(outputs), dtype=outputs.dtype)
            for index, factor in inequality.terms:
                total = total + float(factor) * outputs[:, index]
            excess.append(total)
        columns.append(torch.stack(excess).amax(dim=0))
    return torch.stack(columns).amin(dim=0)
