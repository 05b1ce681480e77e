"""Spoiled claims about attention: none that is false or unproved may pass.

As in `test_mutations`, with an oracle for these networks: the files are read by `assay.question`,
floats look for bad points (corners, gradients, random points), and Arb balls of `question.balls`
decide at the worst ones, so that a refutation is a proof.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import product
from random import Random
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from mutation_oracle import witness
from mutators import MUTATORS, Mutant, Mutator, signed
from onnx import helper
from small_claims import Claimed, instances

from assay.errors import AssayError
from assay.question import vnnlib
from assay.question.balls import enclose
from assay.question.network import Network, load
from assay.question.property import Case
from assay.question.torch_view import torch_view

KNOBS: dict[str, tuple[str, dict[str, Any]]] = {
    "softmax": (
        "softmax_attention",
        {"tokens": 2, "width": 2, "value": 2, "classes": 3, "epsilon": 0.02},
    ),
    "softmax-knife-edge": (
        "softmax_attention",
        {"tokens": 2, "width": 2, "value": 2, "classes": 3, "margin_slack": 1.000001},
    ),
    "transformer": (
        "softmax_attention",
        {"tokens": 2, "width": 2, "classes": 2, "heads": 2, "block": "transformer", "hidden": 3},
    ),
    "linear": (
        "linear_attention",
        {"tokens": 2, "width": 2, "value": 2, "classes": 3, "epsilon": 0.05},
    ),
    "linear-squared": (
        "linear_attention",
        {"tokens": 3, "width": 2, "value": 1, "classes": 2, "feature": "squared_relu"},
    ),
}
LEFT_OUT = {"graph_changed", "kind_changed"}
"""Mutators that speak of MLPs; their like for attention is below."""


def rewired(claim: Claimed, draw: Random, _: Sequence[Claimed]) -> Mutant | None:
    """Another graph over the same weights."""
    model = onnx.ModelProto.FromString(claim.onnx)
    graph = model.graph
    node = draw.choice(list(graph.node))
    names = [n.output[0] for n in graph.node] + [graph.input[0].name]
    tensor = draw.choice(list(graph.initializer))
    operators = ["Add", "Sub", "Mul", "Div", "Relu", "Softmax", "MatMul", "Transpose", "Tanh"]

    def without() -> None:
        at = draw.randrange(len(graph.node) - 1)
        gone = graph.node[at]
        for later in graph.node:
            for i, name in enumerate(later.input):
                if name == gone.output[0]:
                    later.input[i] = gone.input[0]
        del graph.node[at]

    def attribute() -> None:
        if not node.attribute:
            node.attribute.append(helper.make_attribute("axis", draw.choice([0, 1, -1])))
            return
        chosen = draw.choice(list(node.attribute))
        if chosen.ints:
            order = list(chosen.ints)
            draw.shuffle(order)
            chosen.ints[:] = order
        else:
            chosen.i = draw.choice([-2, -1, 0, 1, 2])

    changes: list[Callable[[], object]] = [
        without,
        attribute,
        attribute,
        lambda: setattr(node, "op_type", draw.choice(operators)),
        lambda: setattr(node, "op_type", draw.choice(operators)),
        lambda: node.input.__setitem__(0, draw.choice(names)),
        lambda: node.input.__setitem__(-1, draw.choice(names)),
        lambda: node.input.__setitem__(-1, draw.choice([t.name for t in graph.initializer])),
        lambda: node.input.reverse(),
        lambda: node.input.pop(),
        lambda: tensor.dims.reverse(),
        lambda: setattr(model.opset_import[0], "version", draw.choice([1, 6, 99])),
    ]
    draw.choice(changes)()
    data = model.SerializeToString()
    return None if data == claim.onnx else signed(replace(claim, onnx=data))


def other_kind(claim: Claimed, draw: Random, _: Sequence[Claimed]) -> Mutant | None:
    kinds = ["softmax_attention", "linear_attention", "smooth_pairs", "corners", "witness", ""]
    kind = draw.choice([k for k in kinds if k != claim.truth["certificate"]["kind"]])
    return signed(claim.stating(certificate={"kind": kind}))


SPOILERS: dict[str, Mutator] = {
    **{name: spoil for name, spoil in MUTATORS.items() if name not in LEFT_OUT},
    "rewired": rewired,
    "other_kind": other_kind,
}


@cache
def base(name: str) -> tuple[Claimed, ...]:
    family, knobs = KNOBS[name]
    return tuple(Claimed.of(instance) for instance in instances(family, **knobs))


def donors(name: str) -> tuple[Claimed, ...]:
    return (*base(name) * 3, *(claim for other in KNOBS for claim in base(other)))


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


def judge(mutant: Mutant) -> str:
    if mutant.claim.verdict().status != "verified":
        if mutant.broken:
            return "broken, rejected"
        return "still true, rejected" if holds(mutant.claim) else "false, rejected"
    assert not mutant.broken, "a broken proof was verified"
    assert holds(mutant.claim), "a false claim was verified"
    return "still true, verified"


def tally(name: str, rounds: int) -> Counter[tuple[str, str]]:
    found: Counter[tuple[str, str]] = Counter()
    for claim in base(name):
        for kind, spoil in SPOILERS.items():
            for number in range(rounds):
                draw = Random(f"{name}/{claim.truth['answer']}/{kind}/{number}")
                try:
                    mutant = spoil(claim, draw, donors(name))
                except (IndexError, ValueError, OverflowError):
                    continue  # a tensor of indices, or nothing of this kind to spoil
                if mutant is not None:
                    found[claim.truth["answer"], judge(mutant)] += 1
    return found


@pytest.mark.parametrize("name", KNOBS)
def test_the_originals_are_verified_and_true(name: str) -> None:
    assert {claim.truth["answer"] for claim in base(name)} == {"robust", "violated"}
    for claim in base(name):
        assert claim.verdict().status == "verified"
        assert holds(claim)


@pytest.mark.parametrize("name", KNOBS)
def test_no_wrong_mutant_passes(name: str) -> None:
    outcomes = tally(name, 10)
    for answer in ("robust", "violated"):
        assert outcomes[answer, "broken, rejected"] >= 20
        assert outcomes[answer, "false, rejected"] >= 40
        assert outcomes[answer, "still true, verified"] >= 3


@pytest.mark.slow
def test_hundreds_were_wrong_and_all_were_rejected() -> None:
    outcomes = sum((tally(name, 30) for name in KNOBS), Counter())
    print(dict(outcomes))
    assert sum(n for (_, outcome), n in outcomes.items() if outcome == "false, rejected") >= 1000
