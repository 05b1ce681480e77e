"""The pieces of the polynomial proof against plain evaluation, and the graphs that are read."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import helper
from small_claims import claimed, model, network, question

from assay.proof.arithmetic import Unsupported, Vector
from assay.proof.chain import read_chain
from assay.proof.interval import Interval
from assay.proof.kernel import Objective
from assay.proof.monotone import Separation
from assay.proof.network import read_network
from assay.proof.power import PowerNetwork
from assay.proof.reader import read
from assay.proof.rules.polynomial import halves, leaf_bound
from assay.proof.univariate import greatest, least

F = Fraction
small = st.integers(-40, 40)


@given(small, small, st.integers(1, 9), small, st.integers(0, 30))
def test_bounds_of_one_variable_hold_between_integers(
    factor: int, slope: int, degree: int, low: int, width: int
) -> None:
    high = low + width
    points = [low + F(width * k, 64) for k in range(65)]
    values = [factor * z**degree - slope * z for z in points]
    below, above = (f(factor, slope, degree, low, high) for f in (least, greatest))
    assert below <= min(values)
    assert above >= max(values)
    ends = [factor * z**degree - slope * z for z in (low, high)]
    assert below <= min(ends) <= max(ends) <= above


def test_bounds_of_one_variable_are_close_on_fine_grids() -> None:
    for degree, slope in product((2, 3, 7), (5, -3)):
        scale = 1 << 20
        low, high = -2 * scale, 2 * scale
        found = F(least(3, slope * scale ** (degree - 1), degree, low, high), scale**degree)
        points = [F(k, 512) for k in range(-1024, 1025)]
        sampled = min(3 * z**degree - slope * z for z in points)
        assert sampled - F(1, 1000) <= found <= sampled


@st.composite
def separations(draw: Any) -> Separation:
    inputs, units = draw(st.integers(1, 3)), draw(st.integers(1, 4))
    number = st.integers(-6, 6)
    weight = [[draw(number) / 4 for _ in range(inputs)] for _ in range(units)]
    bias = [draw(number) / 2 for _ in range(units)]
    layers = [(weight, bias), ([[0.0] * units], [0.0])]
    first = read_chain(read(network(layers).SerializeToString())).layers[0]
    coefficients = Vector(tuple(draw(number) for _ in range(units)), 4)
    low = [F(draw(number), 4) for _ in range(inputs)]
    high = [a + F(draw(st.integers(0, 6)), 8) for a in low]
    constant = F(draw(number))
    degree = draw(st.integers(2, 6))
    return Separation(first, degree, Objective(coefficients, constant), Interval.of(low, high))


def sampled(separation: Separation) -> list[Fraction]:
    box = separation.box
    sides = zip(box.lower.fractions(), box.upper.fractions(), strict=True)
    grids = [[a + (b - a) * F(k, 4) for k in range(5)] for a, b in sides]
    return [separation.at(Vector.of(point)) for point in product(*grids)]


@settings(max_examples=150, deadline=None)
@given(separations())
def test_reduction_keeps_the_minimum_and_bounds_hold(separation: Separation) -> None:
    left = separation.reduced()
    assert left.lower_bound() <= min(sampled(separation))
    assert min(sampled(left)) <= min(sampled(separation))
    if not left.free:
        assert left.lower_bound() == min(sampled(separation))


@settings(max_examples=100, deadline=None)
@given(separations(), st.lists(st.integers(-99, 99), min_size=4, max_size=4), st.integers(-3, 9))
def test_leaves_bound_below_whatever_the_multipliers(
    separation: Separation, multipliers: Sequence[int], shift: int
) -> None:
    own = list(multipliers[: separation.first.units])
    bound = leaf_bound(separation, separation.ranges, shift, own)
    values = sampled(separation)
    assert bound <= min(values)
    parts = []
    for half in halves(separation.ranges[0]):
        parts.append(leaf_bound(separation, [half, *separation.ranges[1:]], shift, own))
    assert bound <= min(parts) <= min(values)


def test_halves_share_a_point() -> None:
    assert halves((-3, 4)) == ((-3, 0), (0, 4))


def power_model(nodes: Sequence[tuple[str, Sequence[str], str]], exponent: Any = 3) -> bytes:
    constants = {
        "W": [[1, 2], [0, -1], [3, 1]],
        "b": [1, 0, -1],
        "V": [[1, -1, 2], [0, 1, 1]],
        "c": [0, 1],
        "d": np.array(exponent, np.float32),
    }
    graph = [
        helper.make_node("Gemm", ["x", "W", "b"], ["z"], transB=1),
        *(helper.make_node(kind, list(inputs), [output]) for kind, inputs, output in nodes),
        helper.make_node("Gemm", ["p", "V", "c"], ["y"], transB=1),
    ]
    return model(graph, constants, (1, 2), (1, 2)).SerializeToString()


def expected(degree: int, point: Sequence[Fraction]) -> list[Fraction]:
    a, b = point
    z = [v**degree for v in (a + 2 * b + 1, -b, 3 * a + b - 1)]
    return [z[0] - z[1] + 2 * z[2], z[1] + z[2] + 1]


@pytest.mark.parametrize(
    ("nodes", "degree"),
    [
        ([("Pow", ["z", "d"], "p")], 3),
        ([("Mul", ["z", "z"], "p")], 2),
        ([("Mul", ["z", "z"], "q"), ("Mul", ["q", "z"], "p")], 3),
        ([("Mul", ["z", "z"], "q"), ("Mul", ["z", "q"], "r"), ("Mul", ["r", "q"], "p")], 5),
    ],
)
def test_powers_are_read_from_the_graph(nodes: Any, degree: int) -> None:
    found = read_network(read(power_model(nodes)))
    assert isinstance(found, PowerNetwork)
    assert found.degree == degree
    point = [F(1, 3), F(-5, 7)]
    assert found.outputs(Vector.of(point)).fractions() == expected(degree, point)


@pytest.mark.parametrize(
    "data",
    [
        power_model([("Pow", ["d", "z"], "p")]),
        power_model([("Pow", ["z", "d"], "p")], 2.5),
        power_model([("Pow", ["z", "d"], "p")], -2),
        power_model([("Pow", ["z", "d"], "p")], 1e6),
        power_model([("Pow", ["z", "d"], "p")], [2, 3, 4]),
        power_model([("Pow", ["z", "d"], "q"), ("Mul", ["q", "z"], "p")]),
        power_model([("Mul", ["z", "d"], "p")]),
        power_model([("Mul", ["z", "z"], "q"), ("Relu", ["q"], "r"), ("Mul", ["r", "z"], "p")]),
        power_model([("Relu", ["z"], "r"), ("Mul", ["r", "r"], "p")]),
    ],
)
def test_other_graphs_are_not_understood(data: bytes) -> None:
    with pytest.raises(Unsupported):
        read_network(read(data))


def test_certificates_need_their_own_kind_of_network() -> None:
    cubic = power_model([("Pow", ["z", "d"], "p")])
    box = question([(0, 1), (0, 1)])
    for kind in ("corners", "meap", "constant_box", "relu_tree"):
        assert claimed(cubic, box, kind=kind).verdict().status == "unsupported"
    plain = network([([[1, 0]], [0]), ([[1], [0]], [1, 0])])
    assert claimed(plain, box, kind="polynomial").verdict().status == "unsupported"


def test_a_hand_made_claim() -> None:
    """y_0 - y_1 = (a + 2b + 1)^3 + 2b^3 + (3a + b - 1)^3 - 1, least at (1, 1) on [1, 2]^2."""
    cubic = power_model([("Pow", ["z", "d"], "p")])
    box = question([(1, 2), (1, 2)])
    least_margin = 4**3 + 2 + 3**3 - 1
    good = claimed(cubic, box, kind="polynomial", margin=str(least_margin), guard="float32")
    assert good.verdict().status == "verified"
    better = claimed(cubic, box, kind="polynomial", margin=f"{least_margin}0001/10000")
    assert better.verdict().status == "rejected"


def test_an_overflowing_power_is_not_guarded() -> None:
    high = power_model([("Pow", ["z", "d"], "p")], 60)
    box = question([(100, 101), (100, 101)])
    for guard, status in (("real", "verified"), ("float32", "rejected")):
        claim = claimed(high, box, kind="polynomial", margin="1", guard=guard)
        assert claim.verdict().status == status


def test_numbers_of_absurd_length_are_refused_quickly() -> None:
    high = power_model([("Pow", ["z", "d"], "p")], 60)
    fine = "0." + "0" * 1900 + "1"
    witness = claimed(high, question([(0, 1), (0, 1)]), margin="0", witness=[fine, fine])
    assert witness.verdict().status in ("rejected", "verified")
    wide = np.ones((70_000, 1), np.float32)
    graph = [
        helper.make_node("Gemm", ["x", "W"], ["z"], transB=1),
        helper.make_node("Pow", ["z", "d"], ["p"]),
        helper.make_node("Gemm", ["p", "V"], ["y"], transB=1),
    ]
    constants = {"W": wide, "V": np.ones((2, 70_000), np.float32), "d": np.array(60, np.float32)}
    data = model(graph, constants, (1, 1), (1, 2)).SerializeToString()
    box = question([(0, fine)])
    assert claimed(data, box, kind="polynomial").verdict().status == "unsupported"
    assert claimed(data, box, margin="0", witness=[fine]).verdict().status == "unsupported"
