"""Linear attention: dominant keys over the whole box, unstable ReLUs, proved in rationals."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import onnx
import pytest
from attention_attack import assert_proved_and_unbroken, centre
from ball_conformance import margin_bounds
from onnx import numpy_helper
from pydantic import ValidationError

from assay.bounds.interval_margin import excludes
from assay.errors import CannotCertify
from assay.proof.checker import check
from assay.question import vnnlib
from assay.question.network import load
from assay.truth.instance import Instance
from assay.truth.linear_attention import LinearAttentionKnobs, make

SETTINGS: dict[str, dict[str, Any]] = {
    "plain": {},
    "knife-edge": {"margin_factor": 1.00001, "tokens": 3, "width": 3},
    "wide-box": {"epsilon": 0.08, "tokens": 2, "width": 2, "value": 8},
    "crowded": {"tokens": 6, "width": 2, "gate_scale": 0.3, "noise_scale": 0.1},
    "squared": {"feature": "squared_relu", "epsilon": 0.05, "width": 6},
    "roomy": {"margin_factor": 3.0, "tokens": 6, "width": 8},
}


def case_of(instance: Instance) -> Any:
    (case,) = vnnlib.read(instance.vnnlib.decode(), "x").cases
    return case


def weights_at(instance: Instance, point: np.ndarray, *, squared: bool) -> np.ndarray:
    """Eq. 5 in the plainest way; constants lie in the order in which the nodes were added."""
    stored = onnx.ModelProto.FromString(instance.onnx).graph.initializer
    floats = [numpy_helper.to_array(t) for t in stored]
    wk, bk, ok, wq, bq, oq = [a.astype(float) for a in floats if a.dtype == np.float32][:6]
    x = point.reshape(-1, len(wk))
    power = 2 if squared else 1
    keys = np.maximum(x @ wk + bk, 0) ** power + ok
    return np.asarray((np.maximum(x @ wq + bq, 0) ** power + oq) @ keys.T)


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("seed", [0, 1])
def test_the_checker_verifies_and_attacks_fail(setting: str, seed: int) -> None:
    robust, violated = make(LinearAttentionKnobs(**SETTINGS[setting]), seed)
    assert_proved_and_unbroken(robust, violated, seed)


@pytest.mark.parametrize("setting", SETTINGS)
def test_one_key_dominates_every_row_and_relus_are_unstable(setting: str) -> None:
    knobs = LinearAttentionKnobs(**SETTINGS[setting])
    robust, _ = make(knobs, 0)
    rho = float(Fraction(robust.truth.facts["dominance"]))
    assert rho >= 1
    assert int(robust.truth.facts["unstable_relus"]) >= 2
    box = case_of(robust).box
    low, high = (np.array([float(v) for v in side]) for side in (box.lower, box.upper))
    draw, squared = np.random.default_rng(0), knobs.feature == "squared_relu"
    tops = weights_at(robust, (low + high) / 2, squared=squared).argmax(axis=1)
    assert sorted(tops) == list(range(knobs.tokens))
    for _ in range(200):
        corner = np.where(draw.integers(0, 2, size=len(low)), low, high)
        weights = weights_at(robust, corner, squared=squared)
        best = np.take_along_axis(weights, tops[:, None], 1)[:, 0]
        assert (best >= rho * (weights.sum(axis=1) - best) * (1 - 1e-9)).all()


def test_the_normalisation_is_there() -> None:
    robust, _ = make(LinearAttentionKnobs(), 0)
    assert load(robust.onnx, "x").operators >= {"Div", "ReduceSum", "Relu", "Transpose"}


@pytest.mark.parametrize("factor", [1.00001, 1.1, 1.5])
def test_the_margin_factor_is_honoured(factor: float) -> None:
    robust, violated = make(LinearAttentionKnobs(margin_factor=factor), 2)
    nominal = margin_bounds(robust, centre(robust))[0]
    ratio = nominal / (nominal - robust.truth.margin)
    assert abs(ratio - Fraction(repr(factor))) <= Fraction(1, 10**6)
    attained = Fraction(violated.truth.facts["drop_attained"])
    expected = -(Fraction(repr(factor)) - 1) * attained
    assert abs(violated.truth.margin - expected) <= attained / 10**6


@pytest.mark.slow
@pytest.mark.parametrize("tokens", [2, 4, 6])
@pytest.mark.parametrize("width", [4, 6, 8, 12])
@pytest.mark.parametrize("epsilon", [0.02, 0.05, 0.08])
def test_the_papers_ranges_are_certified(tokens: int, width: int, epsilon: float) -> None:
    for gate, noise in ((0.3, 0.1), (0.5, 0.2), (0.8, 0.3)):
        knobs = LinearAttentionKnobs(
            tokens=tokens,
            width=width,
            value=8,
            classes=10,
            epsilon=epsilon,
            gate_scale=gate,
            noise_scale=noise,
        )
        for seed in range(20):
            try:
                made = make(knobs, seed)
                break
            except CannotCertify:
                continue
        for instance in made:
            truth = instance.truth.to_json().encode()
            assert check(instance.onnx, instance.vnnlib, truth, None).status == "verified"


@pytest.mark.parametrize(("slack", "expected"), [(1.1, False), (5.0, False), (20.0, True)])
def test_slack_decides_what_intervals_can_prove(slack: float, expected: bool) -> None:
    robust, _ = make(LinearAttentionKnobs(margin_factor=slack), 0)
    (case,) = vnnlib.read(robust.vnnlib.decode(), "x").cases
    assert excludes(load(robust.onnx, "x"), case) == expected


def test_refusals_name_the_remedy() -> None:
    with pytest.raises(ValidationError, match="gate"):
        LinearAttentionKnobs(gate=1)  # type: ignore[call-arg]
    with pytest.raises(CannotCertify, match="lower epsilon or noise_scale"):
        make(LinearAttentionKnobs(noise_scale=5.0), 0)
    with pytest.raises(CannotCertify, match=r"lower epsilon|too close"):
        make(LinearAttentionKnobs(tokens=20, width=2), 0)
