"""Smooth pairs: sigmoid and tanh networks planted just above what a shared response can lose."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from attacks import EVALUATIONS, attacked, snapped
from attention_attack import assert_proved_and_unbroken
from ball_conformance import margin_bounds
from numpy.typing import NDArray
from onnx import numpy_helper
from pydantic import ValidationError

from assay.bounds.branch import decide
from assay.bounds.interval import enclosing_box
from assay.bounds.interval_margin import excludes
from assay.bounds.linear import linear_margin_bounds
from assay.errors import CannotCertify
from assay.proof.checker import check
from assay.question import vnnlib
from assay.question.network import Network, load
from assay.question.property import Case
from assay.truth.instance import Instance
from assay.truth.smooth_design import SmoothLayers
from assay.truth.smooth_pairs import SmoothPairsKnobs, make

SETTINGS: dict[str, dict[str, Any]] = {
    "plain": {},
    "tanh": {"activation": "tanh", "against": 0.5},
    "no-backbone": {"backbone": 0, "inputs": 4, "placement": "spread", "epsilon": 0.2},
    "deep": {"backbone": 4, "width": 8, "pairs": 6, "classes": 3, "reach": 6},
    "knife-edge": {"gamma": 1e-6, "delta": 0.01, "activation": "tanh", "negated": False},
    "one": {"inputs": 1, "classes": 2, "pairs": 1, "backbone": 1, "width": 1},
    "loose": {"gamma": 20.0, "delta": 2.0, "against": 0.0},
}
Arrays = list[NDArray[np.float32]]


def arrays(instance: Instance) -> Arrays:
    graph = onnx.ModelProto.FromString(instance.onnx).graph
    return [numpy_helper.to_array(tensor) for tensor in graph.initializer]


def asked(instance: Instance) -> tuple[Network, Case]:
    (case,) = vnnlib.read(instance.vnnlib.decode(), instance.name).cases
    return load(instance.onnx, instance.name), case


def linear_bound(instance: Instance) -> float:
    network, case = asked(instance)
    rows = torch.zeros(len(case.violation.disjuncts), network.outputs, dtype=torch.float64)
    for row, ((inequality,)) in zip(rows, case.violation.disjuncts, strict=True):
        for index, coefficient in inequality.terms:
            row[index] = float(coefficient)
    return float(linear_margin_bounds(network, *enclosing_box(case.box), rows).min())


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("seed", [0, 1])
def test_the_checker_verifies_and_attacks_fail(setting: str, seed: int) -> None:
    robust, violated = make(SmoothPairsKnobs(**SETTINGS[setting]), seed)
    assert_proved_and_unbroken(robust, violated, seed)


@pytest.mark.slow
@pytest.mark.parametrize("setting", SETTINGS)
def test_strong_attacks_fail_too(setting: str) -> None:
    """10^5 points in `make test-all`; the lowest of them are decided in balls."""
    robust, violated = make(SmoothPairsKnobs(**SETTINGS[setting]), 2)
    attack = attacked(robust, 0)
    assert attack.evaluations >= EVALUATIONS
    for point in attack.points:
        margin = margin_bounds(robust, snapped(point.tolist(), attack.box))[0]
        assert margin >= robust.truth.margin
    assert float(attacked(violated, 0).margins.min()) < 0


@pytest.mark.parametrize("activation", ["sigmoid", "tanh"])
def test_the_files_hold_pairs_that_share_their_bytes(activation: Any) -> None:
    knobs = SmoothPairsKnobs(activation=activation, backbone=1, pairs=20, delta=0.125)
    robust, _ = make(knobs, 2)
    assert load(robust.onnx, "x").operators == {"Gemm", activation.capitalize()}
    first, _, rows, biases, readout, _ = arrays(robust)
    assert (first.shape, rows.shape, readout.shape) == ((16, 12), (40, 16), (5, 40))
    signs = []
    for unit, row in enumerate(rows):
        (other,) = [k for k in range(40) if k != unit and (abs(rows[k]) == abs(row)).all()]
        sign = int(np.sign(rows[other][0] * row[0]))
        assert (rows[other] == sign * row).all()
        assert (readout[:, other] == -sign * readout[:, unit]).all()
        assert abs(abs(biases[unit] - sign * biases[other]) - 0.25) < 1e-6
        signs.append(sign)
    assert 0 < signs.count(-1) < 40
    plain, _ = make(knobs.model_copy(update={"negated": False}), 2)
    assert len({row.tobytes() for row in arrays(plain)[2]}) == 20


def test_the_twin_differs_by_one_output_bias() -> None:
    robust, violated = (arrays(instance) for instance in make(SmoothPairsKnobs(), 3))
    for one, other in zip(robust[:-1], violated[:-1], strict=True):
        assert (one == other).all()
    assert np.count_nonzero(robust[-1] != violated[-1]) == 1


@pytest.mark.parametrize("gamma", [1e-4, 0.05, 1.0])
def test_gamma_is_the_margin_over_the_certified_drop(gamma: float) -> None:
    robust, violated = make(SmoothPairsKnobs(gamma=gamma, activation="tanh", classes=2), 0)
    drop = Fraction(robust.truth.facts["drop_certified"])
    assert abs(robust.truth.margin / drop - Fraction(repr(gamma))) < Fraction(1, 10**5)
    attained = Fraction(violated.truth.facts["drop_attained"])
    depth = min(Fraction(repr(gamma)), Fraction(1, 2))
    assert abs(violated.truth.margin + depth * attained) < attained / 10**5
    assert attained <= drop


def test_some_pairs_count_against_the_label() -> None:
    for share, expected in ((0.0, 0), (0.25, 5), (0.4, 8)):
        robust, _ = make(SmoothPairsKnobs(pairs=20, against=share, negated=False, classes=2), 1)
        rows, biases, readout = arrays(robust)[-4:-1]
        case = asked(robust)[1]
        ((inequality,),) = case.violation.disjuncts
        weights = sum(float(c) * readout[i] for i, c in inequality.terms)
        higher = [
            next(b > biases[k] for k in range(40) if k != u and (rows[k] == rows[u]).all())
            for u, b in enumerate(biases)
        ]
        assert np.count_nonzero(weights[higher] < 0) == expected


@pytest.mark.parametrize("activation", ["sigmoid", "tanh"])
@pytest.mark.parametrize("backbone", range(5))
def test_bounds_without_branching_lose_what_the_theorem_keeps(
    activation: Any, backbone: int
) -> None:
    robust, _ = make(SmoothPairsKnobs(activation=activation, backbone=backbone), 0)
    assert not excludes(*asked(robust))
    assert linear_bound(robust) < -5 * float(robust.truth.margin)


def test_a_wide_margin_is_easy() -> None:
    robust, _ = make(SmoothPairsKnobs(gamma=50.0), 0)
    assert excludes(*asked(robust))
    assert 0 < linear_bound(robust) <= float(robust.truth.margin) * 1.5


def test_small_ones_are_decided_by_branching() -> None:
    for instance in make(SmoothPairsKnobs(inputs=2, classes=2, pairs=2, backbone=0), 0):
        assert decide(*asked(instance), deadline_s=60.0).verdict == instance.truth.answer


@pytest.mark.slow
def test_the_default_is_not_decided_by_branching_soon() -> None:
    robust, violated = make(SmoothPairsKnobs(), 0)
    assert decide(*asked(robust), deadline_s=8.0).verdict == "unknown"
    assert decide(*asked(violated), deadline_s=60.0).verdict == "violated"


@pytest.mark.nightly
@pytest.mark.parametrize("activation", ["sigmoid", "tanh"])
def test_large_ones_are_certified(activation: Any) -> None:
    knobs = SmoothPairsKnobs(
        inputs=200, width=128, backbone=3, pairs=128, classes=10, activation=activation
    )
    for instance in make(knobs, 0):
        verdict = check(instance.onnx, instance.vnnlib, instance.truth.to_json().encode(), None)
        assert verdict.status == "verified", verdict.reason


@pytest.mark.parametrize("activation", ["sigmoid", "tanh"])
def test_the_design_sees_the_network(activation: Any) -> None:
    draw = np.random.default_rng(0)
    layers = SmoothLayers(activation)
    for _ in range(3):
        weight = (draw.integers(-15, 16, (4, 4)) / 8).astype(np.float32)
        layers = layers.then((weight, (draw.integers(-9, 10, 4) / 16).astype(np.float32)))
    points, rows = draw.integers(-64, 65, (5, 4)) / 128, draw.integers(-9, 10, (2, 4)).astype(float)
    bend = torch.tanh if activation == "tanh" else torch.sigmoid

    def features(x: torch.Tensor) -> torch.Tensor:
        for weight, bias in layers.layers:
            x = bend(x @ torch.tensor(weight).double().T + torch.tensor(bias).double())
        return x

    right = features(torch.tensor(points)).numpy()
    assert np.abs(layers.features(points)[-1] - right).max() < 1e-7
    x = torch.tensor(points[0], requires_grad=True)
    for row, slopes in zip(rows, layers.gradients(points[0], rows), strict=True):
        (gradient,) = torch.autograd.grad(features(x) @ torch.tensor(row), x)
        assert np.abs(gradient.numpy() - slopes).max() < 1e-6


def test_refusals_name_the_knob() -> None:
    with pytest.raises(ValidationError, match="reach_"):
        SmoothPairsKnobs(reach_=1)  # type: ignore[call-arg]
    with pytest.raises(ValidationError, match="lower inputs, width, backbone, pairs or classes"):
        SmoothPairsKnobs(width=256, backbone=4, pairs=256)
    with pytest.raises(CannotCertify, match="raise reach, or lower against"):
        make(SmoothPairsKnobs(reach=0.1), 0)
