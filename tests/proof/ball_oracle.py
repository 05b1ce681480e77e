"""Whether a claim about a smooth network is true, decided without the checker.

The files are read by `assay.question`, floats look for bad points (corners, gradients, random
points), and Arb balls of `question.balls` decide at the worst ones: a refutation is a proof.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product

import numpy as np
import torch
from mutation_campaign import Oracle
from mutation_oracle import witness
from small_claims import Claimed

from assay.errors import AssayError
from assay.question import vnnlib
from assay.question.balls import enclose
from assay.question.network import Network, load
from assay.question.property import Case
from assay.question.torch_view import torch_view


def asked(claim: Claimed) -> tuple[Network, Case] | None:
    try:
        network = load(claim.onnx, "mutant")
        (case,) = vnnlib.read(claim.vnnlib.decode(), "mutant").cases
        if (case.box.dimension, case.violation.outputs) != (network.inputs, network.outputs):
            return None
        enclose(network, case.box.lower, 160)
    except (AssayError, ValueError):
        return None
    return network, case


def highest(network: Network, case: Case, point: Sequence[Fraction]) -> Fraction:
    """An upper bound of the margin at a point."""
    outputs = enclose(network, point, 160)
    return min(
        max(
            sum(max(c * end for end in outputs[i]) for i, c in inequality.terms) - inequality.bound
            for inequality in disjunct
        )
        for disjunct in case.violation.disjuncts
    )


def worst(network: Network, case: Case) -> list[list[Fraction]]:
    """The centre, and the points of the box that floats find lowest."""
    low, high = (
        torch.tensor([float(v) for v in side]).double() for side in (case.box.lower, case.box.upper)
    )
    draw = np.random.default_rng(0)
    if len(low) <= 6:
        choices = torch.tensor(list(product((0.0, 1.0), repeat=len(low)))).double()
    else:
        choices = torch.tensor(draw.integers(0, 2, size=(64, len(low)))).double()
    shares = torch.cat([choices, torch.tensor(draw.random((32, len(low))))])
    points = low + shares * (high - low)
    torch.set_num_threads(1)
    view = torch_view(network, torch.float64)
    for _ in range(3):
        points = points.detach().requires_grad_()
        margins = float_margins(view(points), case)
        (slopes,) = torch.autograd.grad(margins.sum(), points, allow_unused=True)
        if slopes is None:
            break
        points = torch.cat([points, torch.where(slopes > 0, low, high)]).detach()
    order = torch.argsort(float_margins(view(points.detach()), case))[:3]
    ends = list(zip(case.box.lower, case.box.upper, strict=True))
    found = [
        [min(max(Fraction(v), a), b) for v, (a, b) in zip(points[i].tolist(), ends, strict=True)]
        for i in order
    ]
    return [[(a + b) / 2 for a, b in ends], *found]


def float_margins(outputs: torch.Tensor, case: Case) -> torch.Tensor:
    disjuncts = [
        torch.stack(
            [sum(float(c) * outputs[:, i] for i, c in q.terms) - float(q.bound) for q in disjunct]
        ).amax(dim=0)
        for disjunct in case.violation.disjuncts
    ]
    return torch.stack(disjuncts).amin(dim=0)


def holds(claim: Claimed) -> bool:
    """Whether the claim is a true statement about its files, as far as it can be refuted."""
    question, text = asked(claim), claim.truth["margin"]
    if question is None or not isinstance(text, str):
        return False
    network, case = question
    margin = Fraction(text)
    if claim.truth["answer"] == "robust":
        return margin > 0 and all(highest(network, case, p) >= margin for p in worst(network, case))
    point = witness(claim)
    if point is None or not case.box.contains(point):
        return False
    return margin <= 0 and highest(network, case, point) <= margin


# no guard float32 is provable of smooth networks: one that is verified would be wrong
BALLS = Oracle(holds, float32_agrees=lambda _: False)
