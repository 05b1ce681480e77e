from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction

import flint
import numpy as np
import pytest
import torch
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st
from mixed_networks import MIXED, inside, random_boxes, relu_mlp, tensor_values
from operator_cases import CASES, Case, X, floats, number, weights
from torch import Tensor

from assay.bounds.interval import (
    INTERVAL_OPERATORS,
    enclosing_box,
    interval_bounds,
    output_bounds,
)
from assay.bounds.rounding import Interval, gamma
from assay.errors import AssayError, BadInput, Unsupported
from assay.question.exact import EXACT_OPERATORS, ExactFunction
from assay.question.graph import GraphBuilder, mlp
from assay.question.network import Network, load
from assay.question.operators.torch_module import TORCH_OPERATORS
from assay.question.region import Box

_EXACT_CASES = [case for case in CASES if case.op_type in EXACT_OPERATORS]


def case_boxes(case: Case, count: int) -> tuple[Tensor, Tensor]:
    """Boxes between random points, of all widths, that keep the sign that the case asks for."""
    ends = torch.as_tensor(case.points(2 * count), dtype=torch.float64)
    share = 10.0 ** -torch.arange(count, dtype=torch.float64).unsqueeze(1)
    share[-1] = 0.0
    first, second = ends[:count], ends[:count] + (ends[count:] - ends[:count]) * share
    return torch.minimum(first, second), torch.maximum(first, second)


def assert_holds(network: Network, lower: Tensor, upper: Tensor, count: int) -> int:
    """Real values at sampled points lie between the bounds; returns how many were compared.

    The real value at a point lies in the bounds of the point, which therefore meet those of the
    box; torch's float64 value is within their width of it, or within what its own formulas of
    smooth functions lose by cancellation.
    """
    bounds = interval_bounds(network, lower, upper)
    points = inside(lower, upper, count, seed=1).flatten(0, 1)
    at_points = interval_bounds(network, points, points)
    compared = 0
    for name, values in tensor_values(network, points).items():
        low, high = (end.repeat_interleave(count, dim=0) for end in bounds[name])
        least, most = at_points[name]
        width = most - least + 2.0**-48 * (1 + points.abs().amax())
        assert not torch.isnan(low).any()
        assert not torch.isnan(high).any()
        assert (values >= least - width).all(), name
        assert (values <= most + width).all(), name
        assert (values >= low - width).all(), name
        assert (values <= high + width).all(), name
        assert (most >= low).all(), name
        assert (least <= high).all(), name
        compared += values.numel()
    return compared


def test_every_operator_of_torch_is_bounded() -> None:
    assert set(INTERVAL_OPERATORS) == set(TORCH_OPERATORS)


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.label)
def test_bounds_hold_in_every_operator(case: Case) -> None:
    network = load(case.onnx(), case.label)
    lower, upper = case_boxes(case, 5)
    assert_holds(network, lower, upper, 200)


@pytest.mark.parametrize("build", MIXED)
def test_bounds_hold_in_every_node_of_whole_networks(build: Callable[[int], Network]) -> None:
    compared = 0
    for seed in range(3):
        network = build(seed)
        lower, upper = random_boxes(network, 6, seed)
        compared += assert_holds(network, lower, upper, 2_000)
    assert compared > 100_000


@pytest.mark.parametrize("case", _EXACT_CASES, ids=lambda c: c.label)
def test_bounds_hold_exactly_at_rational_points(case: Case) -> None:
    network = load(case.onnx(), case.label)
    function = ExactFunction(network)
    ends = [[Fraction(float(v)) for v in row] for row in case.points(2)]
    thirds = [a + (b - a) / 3 for a, b in zip(*ends, strict=True)]
    whole = Box(*(tuple(f(*pair) for pair in zip(*ends, strict=True)) for f in (min, max)))
    for point in (ends[0], thirds):
        exact = function(point)
        for box in (Box(tuple(point), tuple(point)), whole):
            low, high = (end[0].tolist() for end in output_bounds(network, *enclosing_box(box)))
            found = zip(low, exact, high, strict=True)
            assert all(Fraction(a) <= y <= Fraction(b) for a, y, b in found)


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.label)
def test_points_are_bounded_up_to_rounding(case: Case) -> None:
    network = load(case.onnx(), case.label)
    points = torch.as_tensor(case.points(4), dtype=torch.float64)
    low, high = output_bounds(network, points, points)
    size = 64 * (1 + high.abs().amax())
    assert (high - low).max() <= gamma(1000) * size


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 10**6),
    st.sampled_from([1e-38, 1e-20, 1e-6, 1.0, 1e6, 1e20, 1e37]),
    st.sampled_from([1e-300, 1e-30, 1.0, 1e30, 1e200]),
)
def test_bounds_hold_exactly_at_all_scales(seed: int, weight: float, width: float) -> None:
    rng = np.random.default_rng(seed)
    layers = [
        ((weight * rng.uniform(-1, 1, (n, m))).astype(np.float32), np.zeros(n, np.float32))
        for m, n in ((3, 4), (4, 2))
    ]
    network = load(mlp(layers), "scaled")
    centre = [Fraction(float(v)) for v in rng.uniform(-width, width, 3)]
    box = Box.around(centre, Fraction(width) * Fraction(float(rng.choice([0, 1e-9, 1]))))
    low, high = (end[0].tolist() for end in output_bounds(network, *enclosing_box(box)))
    assert not any(math.isnan(v) for v in (*low, *high))
    for _ in range(3):
        share = [Fraction(int(v), 16) for v in rng.integers(0, 17, 3)]
        point = [a + (b - a) * s for a, b, s in zip(box.lower, box.upper, share, strict=True)]
        for a, y, b in zip(low, ExactFunction(network)(point), high, strict=True):
            assert math.isinf(a) or Fraction(a) <= y
            assert math.isinf(b) or y <= Fraction(b)


# Balls are compared by `not >`: a bound next to a saturated value lies inside its tiny ball.


def _gelu(x: arb) -> arb:
    return x * (1 + (x / arb(2).sqrt()).erf()) / 2


def _gelu_tanh(x: arb) -> arb:
    inner = (2 / arb.pi()).sqrt() * (x + arb(str(0.044715)) * x**3)
    return x * (1 + inner.tanh()) / 2


_REAL: dict[str, Callable[[arb], arb]] = {
    "Cos-13": arb.cos,
    "Elu-13": lambda x: x if x > 0 else (x.exp() - 1) / 2,
    "Erf-13": arb.erf,
    "Exp-13": arb.exp,
    "Gelu-20": _gelu,
    "Gelu-20-tanh": _gelu_tanh,
    "Log-13": arb.log,
    "Sigmoid-13": lambda x: 1 / (1 + (-x).exp()),
    "Sin-13": arb.sin,
    "Softplus-13": lambda x: (1 + x.exp()).log(),
    "Sqrt-13": arb.sqrt,
    "Tanh-13": arb.tanh,
}


@pytest.mark.parametrize("label", sorted(_REAL))
def test_elementary_functions_hold_their_real_values(label: str) -> None:
    case = next(case for case in CASES if case.label == label)
    network = load(case.onnx(), label)
    rng = np.random.default_rng(1)
    size = 10.0 ** rng.uniform(-12, 3, (600, 6)) * rng.choice([1, -1], (600, 6))
    points = torch.as_tensor(np.abs(size) if case.positive else size)
    low, high = (end.flatten().tolist() for end in output_bounds(network, points, points))
    flint.ctx.prec = 4000 if "Gelu" in label or "Softplus" in label else 200
    try:
        for x, a, b in zip(points.flatten().tolist(), low, high, strict=True):
            real = _REAL[label](arb(x))
            assert not arb(a) > real, x
            assert not real > arb(b), x
    finally:
        flint.ctx.prec = 53


@pytest.mark.parametrize("form", ["none", "tanh"])
def test_gelu_turns_inside_narrow_boxes(form: str) -> None:
    case = Case("Gelu", (1, 1), attributes={"approximate": form}, opset=20)
    network = load(case.onnx(), "gelu")
    centre = torch.linspace(-0.77, -0.73, 41, dtype=torch.float64).unsqueeze(1)
    for width in (1e-2, 1e-3, 1e-5):
        low, _ = output_bounds(network, centre - width, centre + width)
        share = torch.linspace(-1, 1, 101, dtype=torch.float64)
        values = torch.nn.functional.gelu(centre + width * share, approximate=form)
        assert (low[:, 0] <= values.amin(1) + 1e-15).all()


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(-800, 800), min_size=3, max_size=3), st.floats(0, 30))
def test_softmax_holds_its_real_values(centre: list[float], radius: float) -> None:
    network = load(Case("Softmax", (1, 3)).onnx(), "softmax")
    low = torch.tensor([centre], dtype=torch.float64) - radius
    high = torch.tensor([centre], dtype=torch.float64) + radius
    least, most = (end[0].tolist() for end in output_bounds(network, low, high))
    flint.ctx.prec = 200
    try:
        for own in range(3):
            for sign in (1, -1):
                ends = [(high if (j == own) == (sign > 0) else low)[0, j].item() for j in range(3)]
                shares = [(arb(e) - arb(ends[own])).exp() for e in ends]
                real = 1 / sum(shares, start=arb(0))
                assert not arb(least[own]) > real
                assert not real > arb(most[own])
    finally:
        flint.ctx.prec = 53


def test_what_is_undefined_somewhere_has_no_bound() -> None:
    box = (torch.tensor([[-1.0, 1.0]]), torch.tensor([[1.0, 2.0]]))
    for op_type in ("Sqrt", "Log", "Reciprocal"):
        low, high = output_bounds(load(Case(op_type, (1, 2)).onnx(), op_type), *box)
        assert (low[0, 0].item(), high[0, 0].item()) == (-math.inf, math.inf)
        assert torch.isfinite(low[0, 1])
        assert torch.isfinite(high[0, 1])


def test_overflow_leaves_no_nan() -> None:
    graph = GraphBuilder((1, 2))
    x = graph.input
    for _ in range(12):
        x = graph.mul(graph.sub(x, graph.neg(x)), x)
    x = graph.softmax(graph.gemm(graph.exp(x), np.ones((2, 2), np.float32)))
    low, high = output_bounds(
        load(graph.build(x), "huge"), torch.tensor([[-3.0, 1.0]]), torch.tensor([[5.0, 9.0]])
    )
    assert (low == 0).all()
    assert (high == 1).all()


def test_nothing_is_known_of_a_sum_that_overflows() -> None:
    graph = GraphBuilder((1, 5))
    network = load(graph.build(graph.reduce_sum(graph.input, [1])), "sum")
    point = torch.tensor([[1e308, 1e308, -1e308, -1e308, -1.0]], dtype=torch.float64)
    low, _ = output_bounds(network, point, point)
    assert (low <= -1).all()


def test_the_square_of_an_interval_is_not_negative() -> None:
    graph = GraphBuilder((1, 2))
    squares = graph.mul(graph.input, graph.input)
    network = load(graph.build(graph.sqrt(graph.reduce_sum(squares, [1]))), "norm")
    low, high = output_bounds(network, torch.tensor([[-1.0, 0.0]]), torch.tensor([[1.0, 0.0]]))
    assert low.item() == 0
    assert 1 <= high.item() < 1 + 1e-12


def test_what_is_computed_from_constants_is_one() -> None:
    """A weight behind a Transpose is as good as a plain one."""
    graph = GraphBuilder((1, 3))
    transposed = graph.transpose(graph.add(weights(2, 3), np.zeros(3, np.float32)), (1, 0))
    network = load(graph.build(graph.matmul(graph.input, transposed)), "turned")
    box = (torch.zeros(1, 3), torch.ones(1, 3))
    low, high = output_bounds(network, *box)
    plain = load(mlp([(weights(2, 3), np.zeros(2, np.float32))]), "plain")
    expected = output_bounds(plain, *box)
    torch.testing.assert_close(low, expected[0], rtol=0, atol=1e-12)
    torch.testing.assert_close(high, expected[1], rtol=0, atol=1e-12)


def test_an_enclosing_box_holds_the_exact_one() -> None:
    box = Box((Fraction(1, 3), Fraction(1, 2)), (Fraction(2, 3), Fraction(1, 2)))
    (low,), (high,) = (end.tolist() for end in enclosing_box(box))
    assert Fraction(low[0]) < Fraction(1, 3)
    assert Fraction(high[0]) > Fraction(2, 3)
    assert low[1] == high[1] == 0.5


def test_intervals_know_no_bad_ends() -> None:
    bad = torch.tensor([math.nan, math.inf, -math.inf], dtype=torch.float64)
    found = Interval.sound(bad, bad)
    assert found.low.tolist() == [-math.inf, sys.float_info.max, -math.inf]
    assert found.high.tolist() == [math.inf, math.inf, -sys.float_info.max]


def test_refusals() -> None:
    network = relu_mlp(0)
    good = torch.zeros(1, 6)
    with pytest.raises(BadInput, match=r"takes \[B, 6\]"):
        interval_bounds(network, torch.zeros(1, 5), torch.zeros(1, 5))
    with pytest.raises(BadInput, match="no numbers between"):
        interval_bounds(network, good + 1, good)
    with pytest.raises(BadInput, match="no numbers between"):
        interval_bounds(network, good, good * math.nan)
    unknown = load(Case("HardSwish", (1, 6), opset=14).onnx(), "net")
    with pytest.raises(Unsupported, match="Assay has no bounds for operator HardSwish yet"):
        interval_bounds(unknown, good, good)
    for case in (
        Case("Conv", (1, 1, 2, 2), (X, X)),
        Case("Pow", (1, 4), (X, number(0.5))),
        Case("Pow", (1, 4), (floats(2, 2, 2, 2), X)),
        Case("PRelu", (1, 4), (X, X)),
    ):
        network = load(case.onnx(), "net")
        with pytest.raises(AssayError, match="under_test' is not supported"):
            interval_bounds(network, torch.zeros(1, 4), torch.ones(1, 4))


def test_flushed_subnormals_are_refused() -> None:
    if not torch.set_flush_denormal(True):
        pytest.skip("this processor does not flush")
    try:
        with pytest.raises(Unsupported, match="subnormal"):
            interval_bounds(relu_mlp(0), torch.zeros(1, 6), torch.ones(1, 6))
    finally:
        torch.set_flush_denormal(False)


def test_torch_is_optional() -> None:
    """Without torch the message says what to install, and the phase search does not need it."""
    program = """
import sys
sys.modules["torch"] = None
import assay.bounds.phase_tree
from assay.errors import BadInput
for module in ("interval", "linear", "branch"):
    try:
        __import__("assay.bounds." + module)
    except BadInput as error:
        print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.count("which is not installed; get it with") == 3
