"""Variations of slopes against derivatives that torch finds on fine grids."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from operator_cases import Case, X, floats, number
from slope_probes import of, varied
from torch import Tensor

from assay.question.network import Network, load
from assay.question.torch_view import torch_view

_SMOOTH = ("Cos", "Erf", "Exp", "Sigmoid", "Sin", "Softplus", "Tanh")
_CURVES: Mapping[str, Case] = {
    **{op: Case(op, (1, 1)) for op in (*_SMOOTH, "Abs", "Log", "Reciprocal", "Relu", "Sqrt")},
    "Clip": Case("Clip", (1, 1), (X, number(-1), number(1.5))),
    "Clip crossed": Case("Clip", (1, 1), (X, number(1), number(-1))),
    "Clip one side": Case("Clip", (1, 1), (X, None, number(0.25))),
    "Clip old": Case("Clip", (1, 1), attributes={"min": -0.5, "max": 0.75}, opset=9),
    "Elu": Case("Elu", (1, 1)),
    "Elu steep": Case("Elu", (1, 1), attributes={"alpha": 2.5}),
    "Elu down": Case("Elu", (1, 1), attributes={"alpha": -0.5}),
    "Gelu": Case("Gelu", (1, 1), opset=20),
    "Gelu tanh": Case("Gelu", (1, 1), attributes={"approximate": "tanh"}, opset=20),
    "LeakyRelu": Case("LeakyRelu", (1, 1), attributes={"alpha": 0.25}),
    "PRelu": Case("PRelu", (1, 1), (X, floats(-1.5))),
    **{f"Pow {n}": Case("Pow", (1, 1), (X, number(n))) for n in range(6)},
}
_KINKED = ("Abs", "Clip", "Elu", "LeakyRelu", "PRelu", "Relu")
_POSITIVE = ("Log", "Sqrt")


def slopes_on_grid(network: Network, points: Tensor) -> Tensor:
    x = points.unsqueeze(1).requires_grad_()
    (found,) = torch.autograd.grad(torch_view(network, torch.float64)(x).sum(), x)
    return found[:, 0]


def searched(network: Network, least: float, most: float) -> float:
    """The largest minus the least slope: a grid, then finer ones around the best points."""
    if most <= least:
        return 0.0
    found = []
    for sign in (1.0, -1.0):
        near = torch.linspace(max(least, min(-8.0, most)), min(most, max(8.0, least)), 1501)
        grid = torch.cat([torch.linspace(least, most, 1501, dtype=torch.float64), near.double()])
        best = -math.inf
        for _ in range(7):
            grid = grid.clamp(least, most).sort().values
            slopes = sign * slopes_on_grid(network, grid)
            place = int(slopes.argmax())
            best = max(best, float(slopes[place]))
            grid = torch.linspace(
                float(grid[max(place - 2, 0)]),
                float(grid[min(place + 2, len(grid) - 1)]),
                201,
                dtype=torch.float64,
            )
        found.append(best)
    return sum(found)


_CENTRES = st.one_of(
    st.floats(-30, 30),
    st.sampled_from([0.0, -1.0, 1.5, 0.25, math.pi, -math.pi / 2, math.sqrt(2), -math.sqrt(2)]),
)


@pytest.mark.parametrize("label", sorted(_CURVES))
@settings(max_examples=60, deadline=None)
@given(_CENTRES, st.floats(-9, 1.8), st.sampled_from([-1.0, -0.5, -0.25, 0.0]))
@example(0.0, 0.0, 0.0)
@example(0.0, 0.0, -1.0)
@example(0.0, 1.0, -0.5)
def test_functions_of_one_number(label: str, centre: float, size: float, place: float) -> None:
    case = _CURVES[label]
    width = 10.0**size
    low = centre + place * width
    if case.op_type in _POSITIVE or case.op_type == "Reciprocal":
        low = abs(low) + 0.01
    high = low + width
    if case.op_type == "Reciprocal" and centre < 0:
        low, high = -high, -low
    network = load(case.onnx(), label)
    edge = 0.0
    if case.op_type in _KINKED:
        # An end is at a kink or well away from it; slopes are compared just inside.
        low, high, edge = round(low, 6), round(high, 6), 1e-10
    expected = searched(network, low + edge, high - edge)
    found = float(varied(network, of([low]), of([high])))
    assert found == pytest.approx(expected, rel=1e-8, abs=1e-8)


@pytest.mark.parametrize(
    ("op_type", "most"),
    [
        ("Sigmoid", 0.25),
        ("Tanh", 1.0),
        ("Erf", 2 / math.sqrt(math.pi)),
        ("Softplus", 1.0),
        ("Sin", 2.0),
        ("Cos", 2.0),
        ("Relu", 1.0),
        ("Abs", 2.0),
        ("Exp", math.inf),
    ],
)
def test_the_whole_line(op_type: str, most: float) -> None:
    """Huge boxes, and boxes of which nothing is known."""
    network = load(Case(op_type, (1, 2)).onnx(), op_type)
    low = of([-1e300, -math.inf])
    assert varied(network, low, -low).flatten().tolist() == [pytest.approx(most)] * 2


@pytest.mark.parametrize("label", ["Gelu", "Gelu tanh"])
def test_gelu_on_the_whole_line(label: str) -> None:
    """The slopes at the two turns add up to 1."""
    network = load(_CURVES[label].onnx(), label)
    whole = float(varied(network, of([-1e30]), of([1e30])))
    turn = slopes_on_grid(network, torch.linspace(1.41, 1.42, 1001, dtype=torch.float64)).max()
    assert whole == pytest.approx(2 * float(turn) - 1, abs=1e-10)


def test_far_waves_are_resolved() -> None:
    """1e15 lies about 2.1 past a crest of the cosine."""
    network = load(Case("Sin", (1, 1)).onnx(), "sin")
    start = 1e15
    assert float(varied(network, of([start]), of([start + 0.5]))) == pytest.approx(
        math.cos(start) - math.cos(start + 0.5), abs=1e-12
    )
    assert float(varied(network, of([start]), of([start + 7.0]))) == 2.0


@pytest.mark.parametrize(
    ("op_type", "low", "high"),
    [
        ("Reciprocal", -1.0, 1.0),
        ("Reciprocal", 0.0, 1.0),
        ("Reciprocal", -1.0, 0.0),
        ("Log", 0.0, 1.0),
        ("Log", -1.0, 1.0),
        ("Log", -1.0, -1.0),
        ("Sqrt", 0.0, 1.0),
        ("Sqrt", -1.0, 1.0),
        ("Exp", 0.0, 800.0),
    ],
)
def test_slopes_without_bound(op_type: str, low: float, high: float) -> None:
    network = load(Case(op_type, (1, 1)).onnx(), op_type)
    assert float(varied(network, of([low]), of([high]))) == math.inf


@pytest.mark.parametrize("label", sorted(set(_CURVES) - {"Log", "Sqrt"}))
def test_points_have_one_slope(label: str) -> None:
    network = load(_CURVES[label].onnx(), label)
    points = torch.linspace(-3, 3, 6, dtype=torch.float64).unsqueeze(1)
    assert not varied(network, points, points).any()


def test_exponents_count_one_by_one() -> None:
    network = load(Case("Pow", (1, 4), (X, floats(0, 1, 2, 3))).onnx(), "pow")
    found = varied(network, of([-1, -1, -1, -2]), of([2, 2, 2, 1]))
    assert found.tolist() == [[[0.0, 0.0, 6.0, 12.0]]]
