"""Spoiled claims about smooth pairs: none that is false or unproved may pass.

The oracle is that of attention: floats search, balls of `assay.question` decide.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from random import Random
from typing import Any

import numpy as np
import onnx
import pytest
from ball_oracle import BALLS
from mutation_campaign import Outcomes, assert_none_is_empty, in_rounds, tally, total
from mutators import Mutant, Mutator, signed
from onnx import numpy_helper
from small_claims import Claimed, instances
from smooth_mutators import SPOILERS

SMALL = {"inputs": 2, "classes": 3, "pairs": 2}
KNOBS: dict[str, dict[str, Any]] = {
    "sigmoid": {**SMALL, "backbone": 1, "width": 2},
    "tanh": {**SMALL, "backbone": 2, "width": 2, "activation": "tanh", "against": 0.5},
    "knife-edge": {**SMALL, "backbone": 0, "gamma": 1e-6, "activation": "tanh"},
    "one-pair": {"inputs": 1, "classes": 2, "pairs": 1, "backbone": 0, "negated": False},
}


def _arrays(model: onnx.ModelProto) -> dict[str, np.ndarray]:
    return {t.name: numpy_helper.to_array(t).copy() for t in model.graph.initializer}


def _written(claim: Claimed, model: onnx.ModelProto, arrays: dict[str, np.ndarray]) -> Mutant:
    for tensor in model.graph.initializer:
        tensor.raw_data = np.ascontiguousarray(arrays[tensor.name]).tobytes()
    return signed(replace(claim, onnx=model.SerializeToString()))


def pair_spoiled(claim: Claimed, draw: Random, _: Sequence[Claimed]) -> Mutant | None:
    """Rows, biases and weights of the last hidden layer, exchanged, negated or nudged."""
    model = onnx.ModelProto.FromString(claim.onnx)
    arrays = _arrays(model)
    gemms = [node for node in model.graph.node if node.op_type == "Gemm"]
    if len(gemms) < 2:
        return None
    rows, biases = (arrays[name] for name in gemms[-2].input[1:])
    readout = arrays[gemms[-1].input[1]]
    a, b = draw.sample(range(len(rows)), 2)
    label = draw.randrange(len(readout))

    def exchange(array: np.ndarray) -> None:
        array[[a, b]] = array[[b, a]]

    def negate() -> None:
        rows[a] *= -1
        if draw.random() < 0.5:
            biases[a] *= -1
        if draw.random() < 0.5:
            readout[:, a] *= -1

    def nudge() -> None:
        chosen = draw.choice([rows[a], readout[:, a], readout[label]])
        chosen *= np.float32(1 + draw.choice([-1, 1]) * 2.0 ** -draw.randrange(1, 20))

    def closer() -> None:
        biases[a] += np.float32(draw.choice([-1, 1]) * 2.0 ** -draw.randrange(0, 20))

    draw.choice([lambda: exchange(biases), lambda: exchange(rows), negate, nudge, closer])()
    mutant = _written(claim, model, arrays)
    return None if mutant.claim.onnx == claim.onnx else mutant


def other_curve(claim: Claimed, draw: Random, _: Sequence[Claimed]) -> Mutant | None:
    model = onnx.ModelProto.FromString(claim.onnx)
    node = draw.choice([n for n in model.graph.node if n.op_type in ("Sigmoid", "Tanh")])
    curves = ["Sigmoid", "Tanh", "Relu", "Softplus", "Erf", "Softsign", "HardSigmoid"]
    node.op_type = draw.choice([curve for curve in curves if curve != node.op_type])
    return signed(replace(claim, onnx=model.SerializeToString()))


OWN: dict[str, Mutator] = {"pair_spoiled": pair_spoiled, "other_curve": other_curve}


@cache
def base(name: str) -> tuple[Claimed, ...]:
    return tuple(Claimed.of(instance) for instance in instances("smooth_pairs", **KNOBS[name]))


def outcomes_of(name: str, rounds: int) -> Outcomes:
    donors = (*base(name) * 3, *(claim for other in KNOBS for claim in base(other)))
    return tally(name, base(name), donors, in_rounds({**SPOILERS, **OWN}, rounds, more=OWN), BALLS)


@pytest.mark.parametrize("name", KNOBS)
def test_the_originals_are_verified_and_true(name: str) -> None:
    assert BALLS.accepts_originals(base(name))


@pytest.mark.parametrize("name", KNOBS)
def test_no_wrong_mutant_passes(name: str) -> None:
    outcomes = outcomes_of(name, 8)
    assert_none_is_empty(outcomes, broken=20, false=40, harmless=3)


@pytest.mark.nightly
def test_hundreds_were_wrong_and_all_were_rejected() -> None:
    outcomes = sum((outcomes_of(name, 30) for name in KNOBS), Counter())
    assert total(outcomes, "false, rejected") >= 1000
    assert total(outcomes, "still true, verified") >= 50
