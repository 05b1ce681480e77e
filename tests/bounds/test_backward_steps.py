"""Each step of a backward bound pays for its own rounding: checked in exact rationals."""

from __future__ import annotations

from fractions import Fraction

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from operator_cases import CASES, Case
from torch import Tensor

from assay.bounds.backward import dot, least, merged
from assay.bounds.linear import LinearNetwork
from assay.bounds.relaxed_network import Choice
from assay.bounds.rounding import Interval
from assay.question.exact import EXACT_OPERATORS, ExactFunction
from assay.question.network import load

_SEEDS = st.integers(0, 10**6)
_EXACT_CASES = [case for case in CASES if case.op_type in EXACT_OPERATORS]


def random(seed: int, *shape: int) -> Tensor:
    """Numbers of very different sizes, so that sums cancel and round."""
    draw = torch.Generator().manual_seed(seed)
    size = 10.0 ** (6 * torch.rand(*shape, generator=draw, dtype=torch.float64) - 3)
    return size * torch.randn(*shape, generator=draw, dtype=torch.float64)


def exact(tensor: Tensor) -> list[Fraction]:
    return [Fraction(v) for v in tensor.flatten().tolist()]


def product(a: Tensor, b: list[Fraction]) -> Fraction:
    return sum((x * y for x, y in zip(exact(a), b, strict=True)), start=Fraction(0))


@settings(max_examples=100, deadline=None)
@given(_SEEDS, st.sampled_from([0.0, 1e-12, 1.0]))
def test_the_least_of_a_functional(seed: int, width: float) -> None:
    f, low = random(seed, 1, 1, 7), random(seed + 1, 1, 7)
    x = Interval(low, low + width)
    value, error = least(f, x, nodes=0)
    corner = torch.where(f[0] > 0, x.low, x.high)
    assert Fraction(value.item()) - Fraction(error.item()) <= product(f, exact(corner))


@settings(max_examples=100, deadline=None)
@given(_SEEDS)
def test_a_sum_of_functionals(seed: int) -> None:
    f, g, x = random(seed, 1, 1, 7), random(seed + 1, 1, 1, 7), random(seed + 2, 1, 7)
    total, error = merged(f, g, Interval.exactly(x))
    off = abs(product(total, exact(x)) - product(f, exact(x)) - product(g, exact(x)))
    assert off <= Fraction(error.item())


@settings(max_examples=100, deadline=None)
@given(_SEEDS, st.sampled_from(["Relu", "LeakyRelu", "Abs"]), st.sampled_from([0.0, 1.0, 1e3]))
def test_kinked_nodes_with_any_choice(seed: int, op_type: str, width: float) -> None:
    network = load(Case(op_type, (1, 5)).onnx(), op_type)
    engine = LinearNetwork(network)
    low = random(seed, 1, 5)
    x = engine.intervals.start(low, low + width)
    (link,) = engine.relaxed(x).links
    f = random(seed + 1, 1, 1, 1, 5)
    blend = torch.rand(1, 1, 1, 5, generator=torch.Generator().manual_seed(seed)).double()
    pulled = link.pull([f], blend)
    ((_, g),) = pulled.functionals
    held = Fraction(pulled.value.item()) - Fraction(pulled.error.item())
    function = ExactFunction(network)
    for point in (x.low, x.high, (x.low + x.high) / 2, x.low.clamp(max=0), x.high.clamp(max=0)):
        inside = torch.minimum(torch.maximum(point, x.low), x.high)
        assert product(g, exact(inside)) + held <= product(f, function(exact(inside)))


@pytest.mark.parametrize("case", _EXACT_CASES, ids=lambda c: c.label)
def test_every_operator_at_a_point(case: Case) -> None:
    """On a box of one point the real value is known exactly; the bound may not exceed it."""
    network = load(case.onnx(), case.label)
    engine = LinearNetwork(network)
    points = torch.as_tensor(case.points(2), dtype=torch.float64)
    relaxed = engine.relaxed(engine.intervals.start(points, points))
    function = ExactFunction(network)
    values = [function(exact(point)) for point in points]
    for seed in range(3):
        f = random(seed, 1, 4, network.outputs).expand(2, 4, network.outputs)
        bounds = relaxed.lower(relaxed.on_outputs(f)).bound
        for i, value in enumerate(values):
            for k in range(4):
                assert Fraction(bounds[i, k].item()) <= product(f[i, k], value)


@settings(max_examples=60, deadline=None)
@given(_SEEDS)
def test_multipliers_of_ranges(seed: int) -> None:
    """The functional is lowered by what the ranges give back, never by less."""
    network = load(Case("Identity", (1, 4)).onnx(), "same")
    engine = LinearNetwork(network)
    point = random(seed, 1, 4)
    relaxed = engine.relaxed(engine.intervals.start(point, point))
    name = network.output_name
    ups, downs = random(seed + 1, 1, 1, 1, 4).abs(), random(seed + 2, 1, 1, 1, 4).abs()
    f = random(seed + 3, 1, 1, 4)
    choice = Choice({}, {name: ups}, {name: downs})
    bound = relaxed.lower(relaxed.on_outputs(f), choice).bound
    assert Fraction(bound.item()) <= product(f, exact(point))


def test_dot_takes_shared_weights() -> None:
    f = torch.arange(12, dtype=torch.float64).reshape(2, 3, 2)
    assert dot(f, torch.ones(1, 2, dtype=torch.float64)).tolist() == [[1, 5, 9], [13, 17, 21]]
