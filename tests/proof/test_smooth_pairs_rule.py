"""The smooth_pairs rule: bounds of shared responses hold, are sharp, and need no certificate."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from flint import arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import helper
from small_claims import model

from assay.proof import reader
from assay.proof import vnnlib as proof_vnnlib
from assay.proof.arithmetic import Rejected, Unsupported
from assay.proof.balls import BITS, ball, ceiling, floor
from assay.proof.claim import Claim
from assay.proof.rules import smooth_pairs
from assay.question import vnnlib
from assay.question.graph import GraphBuilder
from assay.question.network import load
from assay.question.property import Violation
from assay.question.region import Box
from assay.question.torch_view import torch_view

EIGHTHS = st.integers(-40, 40).map(lambda n: Fraction(n, 8))
Floats = np.ndarray


@settings(max_examples=60, deadline=None)
@given(
    EIGHTHS,
    st.integers(0, 80).map(lambda n: Fraction(n, 8)),
    st.lists(EIGHTHS, min_size=1, max_size=4),
    st.sampled_from([Fraction(1), Fraction(1, 2)]),
)
def test_ends_hold_the_differences_and_are_attained(
    low: Fraction, length: Fraction, unsorted: list[Fraction], rate: Fraction
) -> None:
    biases = sorted(unsorted, reverse=True)
    with ctx.workprec(BITS):
        response = ball(low).union(ball(low + length))
        found = smooth_pairs._ends(response, [ball(b) for b in biases], ball(rate))
        # the grid holds the ends, and the middle of any two biases
        grid = [low + length * Fraction(n, 40) for n in range(41)]
        grid += [-(a + b) / 2 for a, b in product(biases, biases)]
        inside = [s for s in grid if low <= s <= low + length]
        for j, (least, largest) in enumerate(found):
            values = []
            for s in inside:
                own, *following = ((ball(rate * (s + b))).tanh() for b in biases[j : j + 2])
                values.append(own - following[0] if following else own)
            assert all(floor(least) <= ceiling(v) and floor(v) <= ceiling(largest) for v in values)
            slack = arb(0, 1e-8)
            assert any((v + slack).overlaps(least) for v in values)
            assert any((v + slack).overlaps(largest) for v in values)


def network(rows: Floats, biases: Floats, readout: Floats, curve: str, backbone: str = "") -> bytes:
    """A last hidden layer over a backbone of one layer, or over the inputs themselves."""
    graph = GraphBuilder((1, rows.shape[1]))
    x = graph.input
    if backbone:
        draw = np.random.default_rng(rows.shape[1])
        mix = draw.integers(-9, 10, (rows.shape[1], rows.shape[1])).astype(np.float32) / 4
        x = getattr(graph, backbone)(graph.gemm(x, mix, np.zeros(len(mix), np.float32)))
    x = getattr(graph, curve)(graph.gemm(x, rows.astype(np.float32), biases.astype(np.float32)))
    return graph.build(graph.gemm(x, readout.astype(np.float32)))


def claim(data: bytes, box: Box, outputs: int) -> Claim:
    text = vnnlib.write(box, Violation.misclassification(0, outputs))
    return Claim(proof_vnnlib.read(text.encode()), reader.read(data), None)


def excesses(data: bytes, points: Floats) -> Floats:
    torch.set_num_threads(1)
    outputs = torch_view(load(data, "net"), torch.float64)(torch.tensor(points)).numpy()
    found: Floats = outputs[:, :1] - outputs[:, 1:]
    return found


def sampled(box: Box, seed: int) -> Floats:
    low, high = (np.array([float(v) for v in side]) for side in (box.lower, box.upper))
    corners = np.array(list(product((0.0, 1.0), repeat=len(low))))
    shares = np.concatenate([corners, np.random.default_rng(seed).random((200, len(low)))])
    found: Floats = low + shares * (high - low)
    return found


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 10**6),
    st.sampled_from(["sigmoid", "tanh"]),
    st.sampled_from(["", "tanh", "sigmoid", "relu"]),
    st.sampled_from([Fraction(1, 64), Fraction(1, 4), Fraction(2)]),
)
def test_no_point_falls_below_the_bound(
    seed: int, curve: str, backbone: str, radius: Fraction
) -> None:
    """Rows that are shared, negated, zero or alone, and any read-out."""
    draw = np.random.default_rng(seed)
    basis = draw.integers(-8, 9, (2, 3)) / 4
    choice, signs = draw.integers(0, 2, 6), draw.choice([-1, 1, 1, 0], 6)
    rows, biases = basis[choice] * signs[:, None], draw.integers(-8, 9, 6) / 4
    readout = draw.integers(-8, 9, (3, 6)) / 4
    data = network(rows, biases, readout, curve, backbone)
    box = Box.around([Fraction(int(n), 4) for n in draw.integers(-4, 5, 3)], radius)
    bounds = smooth_pairs.least_excesses(claim(data, box, 3))
    least = excesses(data, sampled(box, seed)).min(axis=0)
    assert all(float(b) <= v + 1e-9 for b, v in zip(bounds, least, strict=True))


@pytest.mark.parametrize("curve", ["sigmoid", "tanh"])
@pytest.mark.parametrize("negated", [False, True])
@pytest.mark.parametrize("weight", [1.0, -1.0])
def test_one_pair_is_bounded_exactly(curve: str, negated: bool, weight: float) -> None:
    """One response over one input: the least value on a fine grid is the bound."""
    sign = -1.0 if negated else 1.0
    rows, biases = np.array([[2.0], [2.0 * sign]]), np.array([0.75, -0.25 * sign])
    readout = np.array([[weight, -weight * sign], [0.0, 0.0]])
    data = network(rows, biases, readout, curve)
    box = Box((Fraction(-1),), (Fraction(3, 2),))
    (bound,) = smooth_pairs.least_excesses(claim(data, box, 2))
    grid = np.linspace(-1.0, 1.5, 20_001)[:, None]
    assert abs(float(bound) - excesses(data, grid).min()) < 1e-7


def test_far_away_a_pair_is_worth_nothing_and_costs_nothing() -> None:
    """The sign of a difference survives any response; units apart would lose about 2."""
    rows, biases = np.array([[64.0], [64.0]]), np.array([0.25, -0.25])
    readout = np.array([[1.0, -1.0], [0.0, 0.0]])
    box = Box((Fraction(-1),), (Fraction(1),))
    (bound,) = smooth_pairs.least_excesses(claim(network(rows, biases, readout, "tanh"), box, 2))
    assert abs(bound) < Fraction(1, 10**30)
    biases = biases[::-1].copy()
    (bound,) = smooth_pairs.least_excesses(claim(network(rows, biases, readout, "tanh"), box, 2))
    assert -0.5 < bound < -0.48


@pytest.mark.parametrize("unit", [0, 1])
def test_a_row_that_is_an_ulp_off_is_no_longer_shared(unit: int) -> None:
    rows = np.array([[2.0], [2.0]], np.float32)
    rows[unit] = np.nextafter(rows[unit], np.float32(3))
    data = network(rows, np.array([0.25, -0.25]), np.array([[1.0, -1.0], [0.0, 0.0]]), "tanh")
    (bound,) = smooth_pairs.least_excesses(claim(data, Box((Fraction(-2),), (Fraction(2),)), 2))
    assert bound < -1.9


def proved(nodes: list[onnx.NodeProto], **constants: Any) -> Fraction:
    data = model(nodes, constants, (1, 2), (1, 2)).SerializeToString()
    box = Box.around([Fraction(0), Fraction(1)], Fraction(1, 8))
    return smooth_pairs.prove(claim(data, box, 2)).margin


W = [[1.0, 2.0], [0.0, 1.0]]
GEMM, TANH = helper.make_node("Gemm", ["x", "w"], ["h"]), helper.make_node("Tanh", ["h"], ["a"])
LAST = helper.make_node("Gemm", ["a", "w"], ["y"])


def test_matrices_may_be_products_and_sums() -> None:
    plain = proved([GEMM, TANH, LAST], w=W)
    apart = [
        helper.make_node("MatMul", ["x", "w"], ["p"]),
        helper.make_node("Add", ["p", "b"], ["h"]),
        TANH,
        helper.make_node("MatMul", ["a", "w"], ["y"]),
    ]
    assert proved(apart, w=W, b=[0.0, 0.0]) == plain


@pytest.mark.parametrize(
    "nodes",
    [
        [GEMM, helper.make_node("Relu", ["h"], ["a"]), LAST],
        [GEMM, helper.make_node("Tanh", ["h"], ["y"])],
        [helper.make_node("Tanh", ["x"], ["a"]), LAST],
        [GEMM, TANH, helper.make_node("Gemm", ["h", "w"], ["y"])],
        [GEMM, helper.make_node("Tanh", ["x"], ["a"]), LAST],
        [
            *(GEMM, TANH, helper.make_node("Add", ["a", "x"], ["s"])),
            helper.make_node("Gemm", ["s", "w"], ["y"]),
        ],
        [
            *(GEMM, TANH, helper.make_node("Gemm", ["a", "w"], ["r"])),
            *(helper.make_node("Relu", ["r"], ["q"]), helper.make_node("Gemm", ["q", "w"], ["y"])),
        ],
        [GEMM, TANH, LAST, helper.make_node("Tanh", ["x"], ["idle"])],
    ],
)
def test_other_structures_are_not_proved(nodes: list[onnx.NodeProto]) -> None:
    with pytest.raises((Unsupported, Rejected)):
        proved(nodes, w=W)
