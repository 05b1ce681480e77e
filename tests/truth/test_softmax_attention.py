"""Softmax attention: margins at the certified drop, twins below the attained one."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import onnx
import pytest
from attention_attack import assert_proved_and_unbroken, centre
from ball_conformance import checker_bounds, margin_bounds
from flint import arb_mat, ctx
from hypothesis import example, given, settings
from hypothesis import strategies as st
from onnx import numpy_helper
from pydantic import ValidationError
from tier import sized

from assay.bounds.interval_margin import excludes
from assay.errors import CannotCertify
from assay.proof.checker import check
from assay.question import vnnlib
from assay.question.network import load
from assay.truth.attention_bound import spectral_norm
from assay.truth.instance import Instance
from assay.truth.softmax_attention import SoftmaxAttentionKnobs, make

SETTINGS: dict[str, dict[str, Any]] = {
    "plain": {},
    "knife-edge": {"margin_slack": 1.00001, "epsilon": 5e-4, "alpha": 5},
    "slack": {"margin_slack": 5.0, "tokens": 2, "epsilon": 0.01},
    "keys": {"key": 7, "value": 2, "tokens": 5, "width": 3, "alpha": 10},
    "heads": {"heads": 3, "tokens": 3},
    "transformer": {"block": "transformer", "heads": 2, "width": 3, "tokens": 3, "hidden": 5},
}


def constants(instance: Instance) -> list[onnx.TensorProto]:
    return list(onnx.ModelProto.FromString(instance.onnx).graph.initializer)


def fact(instance: Instance, name: str) -> Fraction:
    return Fraction(instance.truth.facts[name])


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("seed", [0, 1])
def test_the_checker_verifies_and_attacks_fail(setting: str, seed: int) -> None:
    robust, violated = make(SoftmaxAttentionKnobs(**SETTINGS[setting]), seed)
    assert_proved_and_unbroken(robust, violated, seed)


@pytest.mark.parametrize("slack", [1.00001, 1.001, 1.05, 2.0, 5.0])
def test_the_slack_is_honoured_for_every_class(slack: float) -> None:
    """The nominal margin of each class is the slack times its certified drop, to float32."""
    knobs = SoftmaxAttentionKnobs(margin_slack=slack)
    robust, violated = make(knobs, 3)
    nominal = margin_bounds(robust, centre(robust))
    assert nominal[0] > 0
    asked = Fraction(repr(slack))
    # the smallest nominal margin is the slack times the smallest drop; the proof leaves the rest
    drop = nominal[0] - robust.truth.margin
    assert asked * (1 - Fraction(1, 10**6)) <= nominal[0] / drop
    assert nominal[0] / drop <= asked * (1 + Fraction(1, 10**6)) or slack > 1.5
    attained = fact(violated, "drop_attained")
    depth = min(asked - 1, Fraction(1, 2))
    assert abs(violated.truth.margin + depth * attained) <= attained / 10**6
    assert margin_bounds(violated, centre(violated))[0] > 0


def test_margins_are_planted_near_the_true_drift() -> None:
    for seed in range(3):
        robust, _ = make(SoftmaxAttentionKnobs(epsilon=5e-4), seed)
        certified, attained = fact(robust, "drop_certified"), fact(robust, "drop_attained")
        assert attained <= certified <= attained * Fraction(11, 10)
        assert fact(robust, "margin_of_the_papers_bound") > 10 * certified


def test_the_papers_bound_is_one() -> None:
    """No point of the box changes a margin by more than it says."""
    robust, _ = make(SoftmaxAttentionKnobs(epsilon=0.01), 0)
    assert fact(robust, "margin_of_the_papers_bound") >= fact(robust, "drop_certified")


def test_the_score_gap_holds_over_the_box() -> None:
    fixed = []
    for seed in range(6):
        robust, _ = make(SoftmaxAttentionKnobs(tokens=2, width=3, alpha=5), seed)
        arrays = [numpy_helper.to_array(t).astype(float) for t in constants(robust)]
        query, key = arrays[0], arrays[1]
        point = np.array([float(v) for v in centre(robust)])
        draw, gap = np.random.default_rng(seed), float(fact(robust, "score_gap"))
        fixed.append(gap > 0)
        for _ in range(60):
            move = draw.choice([-1.0, 0.0, 1.0], size=len(point)) * float(fact(robust, "epsilon"))
            x = (point + move).reshape(2, 3)
            scores = (x @ query) @ (x @ key).T
            nominal = (point.reshape(2, 3) @ query) @ (point.reshape(2, 3) @ key).T
            tops = nominal.argmax(axis=1)
            leads = scores[[0, 1], tops] - scores[[0, 1], 1 - tops]
            assert (leads >= gap - 1e-9).all()
    assert any(fixed)


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 5), st.integers(1, 5), st.integers(0, 1000))
@example(1, 1, 25)  # the matrix (0)
def test_the_spectral_norm_is_bounded_from_above(rows: int, columns: int, seed: int) -> None:
    matrix = np.random.default_rng(seed).integers(-9, 10, size=(rows, columns))
    with ctx.workprec(128):
        bound = float(spectral_norm(arb_mat(rows, columns, matrix.ravel().tolist())).upper())
    right = np.linalg.norm(matrix, 2)
    assert right * (1 - 1e-9) <= bound <= right * 1.05 + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("tokens", sized([2, 8], [2, 8, 16, 32]))
@pytest.mark.parametrize(("alpha", "epsilon"), [(2.0, 5e-4), (10.0, 1e-3), (5.0, 1e-2)])
def test_the_papers_ranges_are_certified(tokens: int, alpha: float, epsilon: float) -> None:
    knobs = SoftmaxAttentionKnobs(
        tokens=tokens,
        width=16 if tokens > 8 else 4,
        value=8,
        classes=50,
        alpha=alpha,
        epsilon=epsilon,
        margin_slack=1.00001,
    )
    for instance in make(knobs, 0):
        verdict = check(instance.onnx, instance.vnnlib, instance.truth.to_json().encode(), None)
        assert verdict.status == "verified", verdict.reason


def test_operators_are_those_of_attention() -> None:
    robust, _ = make(SoftmaxAttentionKnobs(), 0)
    operators = load(robust.onnx, "x").operators
    assert operators == {"MatMul", "Transpose", "Softmax", "Flatten", "Sub", "Gemm"}
    block, _ = make(SoftmaxAttentionKnobs(**SETTINGS["transformer"]), 0)
    assert load(block.onnx, "x").operators == operators | {"Add", "Relu"}
    assert len(checker_bounds(block, centre(block))) == 5


@pytest.mark.parametrize(("slack", "expected"), [(1.05, False), (5.0, False), (20.0, True)])
def test_slack_decides_what_intervals_can_prove(slack: float, expected: bool) -> None:
    robust, _ = make(SoftmaxAttentionKnobs(margin_slack=slack), 0)
    (case,) = vnnlib.read(robust.vnnlib.decode(), "x").cases
    assert excludes(load(robust.onnx, "x"), case) == expected


def test_refusals_name_the_remedy() -> None:
    with pytest.raises(ValidationError, match="alfa"):
        SoftmaxAttentionKnobs(alfa=1)  # type: ignore[call-arg]
    with pytest.raises(ValidationError, match="fewer"):
        SoftmaxAttentionKnobs(tokens=64, heads=8)
    with pytest.raises(ValidationError, match="lower one of them"):
        SoftmaxAttentionKnobs(tokens=64, value=64, classes=100)
    with pytest.raises(CannotCertify, match="all scores are zero"):
        make(SoftmaxAttentionKnobs(tokens=2, width=1, value=1, classes=2), 41)
    with pytest.raises(CannotCertify, match="lower epsilon or alpha"):
        make(SoftmaxAttentionKnobs(tokens=8, width=8, epsilon=0.1, alpha=30), 0)
