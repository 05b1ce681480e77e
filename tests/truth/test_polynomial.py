"""The polynomial family: what it plants, what it proves and what it refuses."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import onnx
import pytest
from attacks import attacked
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import default_rng
from pydantic import ValidationError

from assay.errors import CannotCertify
from assay.proof.checker import check
from assay.question import vnnlib
from assay.question.exact import ExactFunction
from assay.question.network import load
from assay.question.property import Case
from assay.question.runtime import FloatRunner
from assay.truth.instance import Instance
from assay.truth.polynomial import PolynomialKnobs, make
from assay.truth.power_network import GRID, drawn, line

TINY = PolynomialKnobs(inputs=3, hidden=12, degree=4, delta=0.002)
SETTINGS = [
    TINY,
    PolynomialKnobs(inputs=20, hidden=20, degree=2, delta=1e-4),
    PolynomialKnobs(inputs=20, hidden=40, degree=9, delta=1e-6, operator="mul"),
    PolynomialKnobs(inputs=50, hidden=50, degree=22, overlap=0),
    PolynomialKnobs(inputs=50, hidden=50, degree=5, draw="plain", bias=1),
]


@cache
def certified(knobs: PolynomialKnobs) -> tuple[Instance, Instance]:
    for seed in range(20):
        try:
            robust, violated = make(knobs, seed)
        except CannotCertify:
            continue
        return robust, violated
    raise AssertionError(f"nothing is certified with {knobs}")


def asked(instance: Instance) -> Case:
    (case,) = vnnlib.read(instance.vnnlib.decode(), instance.name).cases
    return case


def margin(instance: Instance, point: list[Fraction]) -> Fraction:
    outputs = ExactFunction(load(instance.onnx, "net"))(point)
    return asked(instance).violation.margin(outputs)


def witness(instance: Instance) -> list[Fraction]:
    assert instance.truth.witness is not None
    return [Fraction(text) for text in instance.truth.witness]


@pytest.mark.parametrize("knobs", SETTINGS, ids=lambda k: f"d{k.degree}")
def test_the_checker_proves_both_sides(knobs: PolynomialKnobs) -> None:
    for instance in certified(knobs):
        truth = instance.truth.to_json().encode()
        verdict = check(instance.onnx, instance.vnnlib, truth, instance.arrays)
        assert (verdict.status, verdict.answer) == ("verified", instance.name), verdict.reason


@pytest.mark.parametrize("knobs", SETTINGS, ids=lambda k: f"d{k.degree}")
def test_the_boxes_share_centre_and_network_and_sit_at_the_boundary(
    knobs: PolynomialKnobs,
) -> None:
    robust, violated = certified(knobs)
    assert robust.onnx == violated.onnx
    push, delta = (Fraction(robust.truth.facts[key]) for key in ("push", "delta"))
    small, large = asked(robust).box, asked(violated).box
    sides = list(zip(small.lower, small.upper, large.lower, large.upper, strict=True))
    assert all(a + b == c + d for a, b, c, d in sides)
    assert all((b - a) / 2 == push - delta for a, b, _, _ in sides)
    reach = (large.upper[0] - large.lower[0]) / 2
    assert push <= reach <= push + delta
    # the boundary point lies on the diagonal from the centre to the witness, push away
    centre = [(a + b) / 2 for a, b, _, _ in sides]
    signs = [1 if c > w else -1 for c, w in zip(centre, witness(violated), strict=True)]
    assert all(abs(c - w) == reach for c, w in zip(centre, witness(violated), strict=True))
    boundary = [c - s * push for c, s in zip(centre, signs, strict=True)]
    beside = [p + s * GRID for p, s in zip(boundary, signs, strict=True)]
    assert margin(robust, boundary) < 0 <= margin(robust, beside)
    assert margin(robust, centre) > 0
    # the nearest corner of the robust box
    corner = [p + s * delta for p, s in zip(boundary, signs, strict=True)]
    assert margin(robust, corner) >= robust.truth.margin > 0


def test_a_fully_monotone_minimum_is_exact() -> None:
    robust, violated = certified(TINY)
    box = asked(robust).box
    corners = [list(c) for c in product(*zip(box.lower, box.upper, strict=True))]
    least = min(margin(robust, corner) for corner in corners)
    # the stated margin is the exact one, up to its rounding to 60 bits
    assert 0 <= least - robust.truth.margin <= least / 2**59
    found = margin(violated, witness(violated))
    assert found <= violated.truth.margin < 0


@pytest.mark.parametrize("knobs", SETTINGS[:3], ids=lambda k: f"d{k.degree}")
def test_attacks_find_nothing_in_robust_boxes(knobs: PolynomialKnobs) -> None:
    robust, _ = certified(knobs)
    attack = attacked(robust, 0)
    found = attack.exact()
    assert found
    assert all(value >= robust.truth.margin for value, _ in found)


def test_operators_are_as_asked() -> None:
    kinds = {}
    for knobs in SETTINGS[1:3]:
        model = onnx.ModelProto.FromString(certified(knobs)[0].onnx)
        kinds[knobs.operator] = [node.op_type for node in model.graph.node]
    assert kinds["pow"] == ["Gemm", "Pow", "Gemm"]
    # 9 = binary 1001: three squarings and one more factor
    assert kinds["mul"] == ["Gemm", "Mul", "Mul", "Mul", "Mul", "Gemm"]


def test_trees_prove_what_second_order_does_not() -> None:
    knobs = PolynomialKnobs(inputs=40, hidden=40, degree=22, bias=1, draw="plain")
    with_arrays = 0
    for seed in range(4):
        robust, _ = make(knobs, seed)
        with_arrays += robust.arrays is not None
        if robust.arrays is not None:
            truth = robust.truth.to_json().encode()
            assert check(robust.onnx, robust.vnnlib, truth, robust.arrays).status == "verified"
            assert check(robust.onnx, robust.vnnlib, truth, None).status == "rejected"
    assert with_arrays


def test_guards_follow_delta() -> None:
    wide, knife = (
        make(PolynomialKnobs(inputs=50, hidden=50, delta=delta), 0)[0].truth.guard
        for delta in (5e-3, 1e-6)
    )
    assert (wide, knife) == ("float32", "real")


def test_a_compensated_change_keeps_the_boundary_point() -> None:
    draw = default_rng(3)
    start, _ = line(draw, 20)
    network = drawn(draw, 20, 30, 6, Fraction(2), start)
    signs = network.uphill(start)
    for steps in (32, 4096):
        lifted = network.lifted(start, signs, steps)
        before, after = network.margin(start), lifted.margin(start)
        assert abs(after - before) <= abs(before) / 1000
        rise = tuple(x + int(s) * GRID for x, s in zip(start, signs, strict=True))
        assert lifted.margin(rise) - after > network.margin(rise) - before > 0


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 22))
def test_roots_on_lines_are_boundary_points(seed: int, degree: int) -> None:
    draw = default_rng(seed)
    start, direction = line(draw, 5)
    network = drawn(draw, 5, 8, degree, Fraction(2), start)
    root = network.root_on_line(start, direction)
    if root is not None:
        step = Fraction(1, 2**38)
        ends = [
            network.margin(tuple(a + t * v for a, v in zip(start, direction, strict=True)))
            for t in (root - step, root + step)
        ]
        assert ends[0] * ends[1] <= 0


def test_float32_runs_agree_with_guarded_labels() -> None:
    robust, violated = certified(SETTINGS[1])
    assert violated.truth.guard == "float32"
    runner = FloatRunner(load(violated.onnx, "net"))
    point = np.array([[float(v) for v in witness(violated)]], dtype=np.float32)
    outputs = [Fraction(float(v)) for v in runner.run(point)[0]]
    assert asked(violated).violation.margin(outputs) < 0
    box = asked(robust).box
    low, high = (np.array([float(v) for v in s], np.float32) for s in (box.lower, box.upper))
    draw = default_rng(0)
    points = np.where(draw.integers(0, 2, (2000, len(low))) == 1, low, high)
    if robust.truth.guard == "float32":
        for row in runner.run(points):
            assert asked(robust).violation.margin([Fraction(float(v)) for v in row]) > 0


@pytest.mark.nightly
def test_the_largest_setting_is_made_and_checked() -> None:
    for instance in make(PolynomialKnobs(inputs=300, hidden=500, degree=22, delta=1e-4), 0):
        truth = instance.truth.to_json().encode()
        assert check(instance.onnx, instance.vnnlib, truth, None).status == "verified"


def test_refusals_name_the_knob() -> None:
    with pytest.raises(ValidationError, match="lower delta or raise push"):
        PolynomialKnobs(push=0.02, delta=0.02)
    with pytest.raises(ValidationError, match="lower points or leaves"):
        PolynomialKnobs(draw="plain", points=64, leaves=4096)
    for wrong in ({"degree": 1}, {"degree": 23}, {"inputs": 301}, {"hidden": 501}):
        with pytest.raises(ValidationError):
            PolynomialKnobs.model_validate(wrong)
    with pytest.raises(CannotCertify, match="draw compensated"):
        make(PolynomialKnobs(degree=22, delta=1e-6, bias=0.5, draw="plain", leaves=1), 0)
    refused = []
    for seed in range(12):
        try:
            make(PolynomialKnobs(inputs=2, hidden=2, degree=2), seed)
        except CannotCertify as reason:
            refused.append(str(reason))
    assert any("raise inputs" in reason for reason in refused)


def test_same_seed_same_bytes_and_everything_else_differs() -> None:
    assert make(TINY, 3) == make(TINY, 3)
    others = [make(TINY.model_copy(update={"bias": 1.5}), 3), make(TINY, 4)]
    networks = {i.onnx for pair in (make(TINY, 3), *others) for i in pair}
    assert len(networks) == 3
