from __future__ import annotations

import re
from fractions import Fraction

import numpy as np
import pytest
from cnn_instances import WrittenCnn
from hypothesis import given, settings
from hypothesis import strategies as st
from independent import exact, sample, witness
from pydantic import ValidationError

from assay.bounds.branch import decide
from assay.bounds.interval import enclosing_box, interval_bounds
from assay.bounds.interval_margin import excludes
from assay.errors import CannotCertify
from assay.proof.checker import check, proven_margin
from assay.truth.paired_bias import PairedBiasKnobs, make

SMALL = PairedBiasKnobs(size=4, classes=3, pairs=3, backbone=2, width=3)


def test_convolutions_then_one_matrix() -> None:
    written = WrittenCnn(make(SMALL, 0)[0])
    assert written.operators == ["Conv", "Relu"] * 3 + ["Flatten", "Gemm"]
    assert [w.shape for w in written.weights] == [
        (3, 1, 3, 3),
        (3, 3, 3, 3),
        (6, 3, 3, 3),
        (3, 96),
    ]


@settings(max_examples=12, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    backbone=st.integers(0, 3),
    pairs=st.integers(1, 4),
    gamma=st.sampled_from([1e-3, 0.1, 1.0]),
    delta=st.sampled_from([0.005, 0.1]),
)
def test_exact_margins_obey_the_label(
    seed: int, backbone: int, pairs: int, gamma: float, delta: float
) -> None:
    knobs = PairedBiasKnobs(
        size=3, classes=3, pairs=pairs, backbone=backbone, width=3, gamma=gamma, delta=delta
    )
    robust, violated = make(knobs, seed)
    written, twin = WrittenCnn(robust), WrittenCnn(violated)
    points = [exact(row) for row in sample(written.case, 6, seed)] + [witness(violated)]
    far = [[100 * v for v in point] for point in points[:2]]
    assert robust.truth.margin >= Fraction(repr(gamma))
    assert all(written.margin(point) >= robust.truth.margin for point in points + far)
    assert written.case.box.contains(witness(violated))
    assert twin.margin(witness(violated)) <= violated.truth.margin < 0


def test_the_twin_differs_by_two_swapped_biases() -> None:
    robust, violated = map(WrittenCnn, make(SMALL, 3))
    for one, other in zip(robust.weights, violated.weights, strict=True):
        assert (one == other).all()
    for one, other in zip(robust.biases[:-2], violated.biases[:-2], strict=True):
        assert (one == other).all()
    moved = np.flatnonzero(robust.biases[-2] != violated.biases[-2])
    assert len(moved) == 2
    first, second = moved
    assert robust.biases[-2][first] == violated.biases[-2][second]
    assert (robust.weights[-2][first] == robust.weights[-2][second]).all()


def test_the_twin_is_right_at_the_centre() -> None:
    kept = [WrittenCnn(make(SMALL, seed)[1]) for seed in range(5)]
    assert sum(w.margin(w.middle) > 0 for w in kept) >= 3


def test_interval_bounds_lose_what_the_theorem_keeps() -> None:
    robust, _ = make(PairedBiasKnobs(), 0)
    written = WrittenCnn(robust)
    assert not excludes(written.network, written.case)
    assert decide(written.network, written.case, deadline_s=1.0).verdict == "unknown"


def test_a_wide_margin_is_easy() -> None:
    knobs = PairedBiasKnobs(size=2, classes=2, pairs=1, backbone=0, gamma=1e-2, delta=0.1)
    for instance in make(knobs, 0):
        written = WrittenCnn(instance)
        found = decide(written.network, written.case, deadline_s=20.0)
        assert found.verdict == instance.truth.answer


@pytest.mark.parametrize("placement", ["response", "interval"])
def test_most_units_are_unstable(placement: str) -> None:
    written = WrittenCnn(make(PairedBiasKnobs(placement=placement), 1)[0])
    bounds = interval_bounds(written.network, *enclosing_box(written.case.box))
    last = [node for node in written.network.nodes if node.op_type == "Relu"][-1]
    low, high = bounds[last.inputs[0]]
    assert float(((low < 0) & (high > 0)).double().mean()) > 0.5


def test_the_proved_margin_is_the_offset_and_holds_for_any_box() -> None:
    robust, _ = make(SMALL, 1)
    text = robust.vnnlib.decode()
    wide = re.sub(r"\(<= X_0 [^)]*\)", "(<= X_0 9.0)", text)
    assert wide != text
    for question in (text, wide):
        margin = proven_margin(robust.onnx, question.encode(), "paired_bias", None)
        assert margin == robust.truth.margin
    truth = robust.truth.to_json().encode()
    assert check(robust.onnx, robust.vnnlib, truth, None).status == "verified"


def test_a_closed_pair_is_refused_with_the_knob_to_turn() -> None:
    knobs = PairedBiasKnobs(size=8, pairs=1, backbone=4, width=16, placement="interval", delta=1e-5)
    refused = []
    for seed in range(8):
        try:
            make(knobs, seed)
        except CannotCertify as refusal:
            refused.append(str(refusal))
    assert refused
    assert all("set placement to response" in text for text in refused)


def test_too_many_weights_are_refused() -> None:
    with pytest.raises(ValidationError, match="lower size, pairs or classes"):
        PairedBiasKnobs(size=32, pairs=256, classes=100)
