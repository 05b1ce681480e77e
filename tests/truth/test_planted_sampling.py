"""Random points against the probabilities that planted instances claim."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from planted_settings import SAMPLED, asked, made, probability, violating

from assay.question.network import load
from assay.truth.planted import PlantedKnobs, make
from assay.truth.planting.sampling import sampled

SAMPLES = 100_000


@pytest.mark.parametrize("name", SAMPLED)
def test_sampling_agrees_with_the_claimed_probability(name: str) -> None:
    _, violated = made(name)
    found = sampled(load(violated.onnx, name), asked(violated), violated.truth, seed=7)
    assert found.telling, "too few points would be hit to tell"
    assert found.agrees, found


RARE: dict[str, dict[str, Any]] = {
    "soft": {"kind": "soft_box", "charges": "capped", "inputs": 16, "width": 0.1},
    "rotated": {"kind": "rotated_box", "charges": "capped", "inputs": 16, "width": 0.1},
    "simplex": {"kind": "simplex", "placement": "corner", "inputs": 16, "width": 0.1},
    "tent": {"kind": "tent", "inputs": 12, "width": 0.1},
    "lock": {"kind": "xor_lock", "inputs": 25, "parities": 26, "width": 0.1, "placement": "corner"},
    "tip": {"kind": "soft_box", "tip": True, "inputs": 3, "height": 0.001, "width": 0.3},
    "stem": {"kind": "simplex", "inputs": 6, "stem": "padded_pool", "width": 0.2},
    "tanh": {"kind": "soft_box", "inputs": 16, "stem": "tanh", "width": 0.1},
}


@pytest.mark.parametrize("name", RARE)
def test_sampling_tells_of_the_rarest_violations(name: str) -> None:
    _, violated = make(PlantedKnobs(**RARE[name]), 1)
    network, case = load(violated.onnx, name), asked(violated)
    assert probability(violated)[1] < 1e-6
    found = sampled(network, case, violated.truth, points=20_000)
    assert found.telling
    assert found.agrees, found
    wrong = {"exact": str(probability(violated)[0] * 2)}
    truth = replace(violated.truth, violation_probability=wrong)
    assert not sampled(network, case, truth, points=20_000).agrees


@pytest.mark.parametrize("factor", [Fraction(9, 10), Fraction(11, 10)])
def test_sampling_contradicts_a_wrong_probability(factor: Fraction) -> None:
    _, violated = made("soft-plane")
    wrong = {"exact": str(probability(violated)[0] * factor)}
    truth = replace(violated.truth, violation_probability=wrong)
    assert not sampled(load(violated.onnx, "planted"), asked(violated), truth).agrees


@pytest.mark.parametrize("name", SAMPLED)
def test_samples_and_the_centre_of_twins_are_robust(name: str) -> None:
    robust, violated = made(name)
    box = asked(robust).box
    low, high = (np.array([float(v) for v in side]) for side in (box.lower, box.upper))
    points = low + np.random.default_rng(8).random((SAMPLES // 4, len(low))) * (high - low)
    assert not violating(robust, points).any()
    assert violated.truth.witness is not None
    witness = np.array([[float(text) for text in violated.truth.witness]])
    assert violating(violated, witness).all()
    near = witness + (points - (low + high) / 2) * robust.truth.parameters["width"]
    assert not violating(robust, np.clip(near, low, high)).any()
    middle = ((low + high) / 2)[None]
    assert not violating(robust, middle).any()
    assert not violating(violated, middle).any()
