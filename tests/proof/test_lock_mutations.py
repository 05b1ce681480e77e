"""Spoiled claims about locks of parities: judged at all corners, by random points and by shares."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from math import sqrt
from random import Random
from typing import Any

import numpy as np
import onnx
import pytest
from exact_minimum import forward
from mutation_campaign import Oracle, assert_none_is_empty, in_rounds, tally
from mutation_oracle import Asked, Floats, asked, float32_agrees
from mutation_oracle import holds as margin_holds
from mutators import MUTATORS, SHARED, Mutant, Mutator, signed
from numpy.typing import NDArray
from onnx import numpy_helper
from small_claims import Claimed, instances
from test_planted_mutations import probability_left_out

KNOBS: dict[str, dict[str, Any]] = {
    "lock": {"polarity": "raise"},
    "lower": {"polarity": "lower", "placement": "past_middle", "height": 2.0},
    "full": {"parities": 9, "placement": "face", "dilution": 0},
}
SMALL = {"kind": "xor_lock", "inputs": 5, "parities": 6, "classes": 3, "neurons": 1, "dilution": 1}
POINTS = 20_000
ROUNDS = 3


def holds(claim: Claimed) -> bool:
    """Whether nothing was found against a claim: a probability six deviations off is false."""
    if not margin_holds(claim):
        return False
    question = asked(claim)
    stated = claim.truth.get("violation_probability")
    if stated is None or question is None:
        return question is not None
    low, high = (
        np.array([float(v) for v in side])
        for side in (question.case.box.lower, question.case.box.upper)
    )
    points = low + np.random.default_rng(3).random((POINTS, len(low))) * (high - low)
    violating = _violating(question, points)
    # floats are no judges where weights of absurd size cancel
    for index in range(0, POINTS, POINTS // 20):
        outputs = forward(question.layers, [Fraction(v) for v in points[index]])[-1]
        if (question.margin(outputs) <= 0) != violating[index]:
            return True
    hits = int(violating.sum())
    lower, upper = (float(Fraction(stated[key])) for key in ("lower", "upper"))
    ends = [(POINTS * p, 6 * sqrt(POINTS * p * (1 - p)) + 6) for p in (lower, upper)]
    return ends[0][0] - ends[0][1] <= hits <= ends[1][0] + ends[1][1]


def _violating(question: Asked, points: Floats) -> NDArray[np.bool_]:
    values = points
    for index, (weight, bias) in enumerate(question.floats):
        values = (np.maximum(values, 0) if index else values) @ weight.T + bias
    excesses = [
        sum(float(c) * values[:, i] for i, c in inequality.terms) - float(inequality.bound)
        for (inequality,) in question.case.violation.disjuncts
    ]
    found: NDArray[np.bool_] = np.min(excesses, axis=0) <= 0
    return found


def bounds_changed(claim: Claimed, draw: Random, _: Sequence[Claimed]) -> Mutant | None:
    """Bounds that no longer hold what is proved, or that hold more than it."""
    stated = claim.truth.get("violation_probability")
    if stated is None:
        return Mutant(claim.stating(violation_probability={"lower": "0", "upper": "1"}), True)
    low, high = Fraction(stated["lower"]), Fraction(stated["upper"])
    hair = Fraction(1, draw.choice([10, 10**4, 10**8])) * low
    middle = str((low + high) / 2)
    value, broken = draw.choice(
        [
            ({"lower": str(high + hair), "upper": "1"}, True),
            ({"lower": "0", "upper": str(low - hair)}, True),
            ({"lower": middle, "upper": str(high)}, True),
            ({"lower": str(low), "upper": middle}, True),
            ({"lower": str(high), "upper": str(low)}, True),
            ({"exact": middle}, True),
            ({"lower": str(low - hair), "upper": str(high + hair)}, False),
        ]
    )
    return Mutant(claim.stating(violation_probability=value), broken=broken)


def weights_negated(claim: Claimed, draw: Random, _: Sequence[Claimed]) -> Mutant | None:
    """Signs turned over in one row: other parities, other bits."""
    model = onnx.ModelProto.FromString(claim.onnx)
    tensor = draw.choice([t for t in model.graph.initializer if len(t.dims) == 2])
    values = numpy_helper.to_array(tensor).copy()
    row = draw.randrange(len(values))
    columns = draw.sample(range(values.shape[1]), min(draw.choice([1, 2, 3]), values.shape[1]))
    values[row, columns] *= -1
    tensor.CopyFrom(numpy_helper.from_array(values, tensor.name))
    return signed(Claimed(model.SerializeToString(), claim.vnnlib, claim.truth, claim.arrays))


LOCKS = Oracle(holds, float32_agrees)
SPOILERS: dict[str, Mutator] = {
    **{kind: MUTATORS[kind] for kind in SHARED if kind != "question_changed"},
    "probability_left_out": probability_left_out,
    "bounds_changed": bounds_changed,
    "weights_negated": weights_negated,
}


@cache
def base(name: str) -> tuple[Claimed, ...]:
    return tuple(map(Claimed.of, instances("planted", **{**SMALL, **KNOBS[name]})))


@cache
def donors() -> tuple[Claimed, ...]:
    return tuple(claim for name in KNOBS for claim in base(name))


@pytest.mark.parametrize("name", KNOBS)
def test_no_wrong_mutant_passes(name: str) -> None:
    assert LOCKS.accepts_originals(base(name))
    more = ("weight_jump", "bias_jump", "weights_negated", "bounds_changed")
    found = tally(name, base(name), donors(), in_rounds(SPOILERS, ROUNDS, more=more), LOCKS)
    assert_none_is_empty(found, broken=12, false=10, harmless=1)
