"""Lines around single functions, against exact values."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import flint
import pytest
import torch
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st
from operator_cases import Case, X, number

from assay.bounds.interval import IntervalNetwork
from assay.bounds.operators.relaxation import RELAXATIONS, Relaxation, bent
from assay.bounds.rounding import Interval
from assay.question.network import load

_ENDS = st.one_of(
    st.floats(-40, 40),
    st.floats(-1e-3, 1e-3),
    st.sampled_from([0.0, -1e-300, 1e-300, 1.0, -1.0, 1e150, -1e150]),
)
_SHARES = st.integers(0, 16).map(lambda n: Fraction(n, 16))

_CURVES: dict[str, tuple[Case, Callable[[arb], arb]]] = {
    "Erf": (Case("Erf", (1, 1)), arb.erf),
    "Exp": (Case("Exp", (1, 1)), arb.exp),
    "Log": (Case("Log", (1, 1)), arb.log),
    "Mul": (Case("Mul", (1, 1), (X, X)), lambda x: x * x),
    "Reciprocal": (Case("Reciprocal", (1, 1)), lambda x: 1 / x),
    "Sigmoid": (Case("Sigmoid", (1, 1)), lambda x: 1 / (1 + (-x).exp())),
    "Softplus": (Case("Softplus", (1, 1)), lambda x: (1 + x.exp()).log()),
    "Sqrt": (Case("Sqrt", (1, 1)), arb.sqrt),
    "Tanh": (Case("Tanh", (1, 1)), arb.tanh),
    **{
        f"Pow {e}": (Case("Pow", (1, 1), (X, number(e))), lambda x, e=e: x**e)  # type: ignore[misc]
        for e in (0, 1, 2, 3, 4, 7)
    },
}


def relaxed(case: Case, low: float, high: float) -> Relaxation:
    network = load(case.onnx(), case.label)
    engine = IntervalNetwork(network)
    ends = (torch.tensor([[end]], dtype=torch.float64) for end in (low, high))
    call = engine.call(network.nodes[0], {network.input_name: engine.start(*ends)})
    found = RELAXATIONS[case.op_type](call)
    assert found is not None
    return found


@pytest.mark.parametrize("name", sorted(_CURVES))
@settings(max_examples=60, deadline=None)
@given(ends=st.tuples(_ENDS, _ENDS), shares=st.lists(_SHARES, min_size=3, max_size=3))
def test_smooth_functions_lie_between_their_lines(
    name: str, ends: tuple[float, float], shares: list[Fraction]
) -> None:
    case, curve = _CURVES[name]
    low, high = min(ends), max(ends)
    found = relaxed(case, low, high)
    flint.ctx.prec = 3000
    try:
        for share in (Fraction(0), Fraction(1), *shares):
            exact = Fraction(low) + (Fraction(high) - Fraction(low)) * share
            x = arb(flint.fmpq(exact.numerator, exact.denominator))
            real = curve(x)
            if not real.is_finite():
                continue
            for line, sign in ((found.lower, 1), (found.upper, -1)):
                slope, offset = line.slope.item(), line.offset.item()
                if math.isfinite(offset):
                    assert not sign * (arb(slope) * x + arb(offset) - real) > 0, (name, exact)
                else:
                    assert slope == 0
                    assert offset == -sign * math.inf
    finally:
        flint.ctx.prec = 53


@settings(max_examples=300, deadline=None)
@given(
    ends=st.tuples(_ENDS, _ENDS),
    slope=st.sampled_from([0.0, 0.01, 0.3, 1.0, 2.5, -1.0, -0.25]),
    blend=st.floats(0, 1),
    share=_SHARES,
)
def test_bent_functions_lie_between_their_lines(
    ends: tuple[float, float], slope: float, blend: float, share: Fraction
) -> None:
    low, high = min(ends), max(ends)
    x = Interval(*(torch.tensor([[e]], dtype=torch.float64) for e in (low, high)))
    found = bent(x, torch.tensor(slope, dtype=torch.float64))
    assert found.kink is not None
    steep = found.kink.slope(torch.full((1, 1, 1), blend, dtype=torch.float64)).item()
    exact = Fraction(low) + (Fraction(high) - Fraction(low)) * share
    value = exact if exact > 0 else Fraction(slope) * exact
    lines = [(found.lower, 1), (found.upper, -1)]
    for line, sign in lines:
        offset = line.offset.item()
        assert sign * (Fraction(line.slope.item()) * exact + Fraction(offset) - value) <= 0
    if bool(found.kink.free):
        sign = -1 if bool(found.kink.above) else 1
        assert sign * (Fraction(steep) * exact - value) <= 0


def test_lines_are_good_where_it_matters() -> None:
    """Not only sound: the gap of a tangent line shrinks with the square of the width."""
    for name in ("Sigmoid", "Tanh", "Exp", "Pow 3", "Pow 2"):
        case = _CURVES[name][0]
        gaps = []
        for width in (0.1, 0.01):
            for centre in (-0.7, 0.3):
                found = relaxed(case, centre - width, centre + width)
                ends = torch.tensor([centre - width, centre + width], dtype=torch.float64)
                slope = found.upper.slope - found.lower.slope
                gap = slope * ends + found.upper.offset - found.lower.offset
                gaps.append(gap.max().item())
        assert max(gaps[:2]) < 0.06
        assert max(gaps[2:]) < 0.0006
