from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from independent import Written, exact, sample, witness
from pydantic import ValidationError

from assay.errors import BadInput
from assay.proof.checker import check
from assay.question.floaterror import output_error
from assay.truth.meap import MeapKnobs, make

SMALL = MeapKnobs(inputs=4, classes=3, pairs=5, epsilon=0.1, gamma=0.01)


def test_only_gemm_and_relu_with_a_tournament_of_minima() -> None:
    written = Written(make(MeapKnobs(pairs=6), 0)[0])
    assert written.operators == ["Gemm", "Relu"] * 5 + ["Gemm"]
    assert [len(b) for _, b in written.floats] == [12, 12, 6, 3, 2, 10]


@settings(max_examples=15, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    pairs=st.integers(2, 9),
    epsilon=st.sampled_from([0.05, 0.1, 0.5]),
    gamma=st.sampled_from([1e-5, 1e-3, 1.0, 100.0]),
    classes=st.integers(2, 4),
)
def test_exact_margins_obey_the_label(
    seed: int, pairs: int, epsilon: float, gamma: float, classes: int
) -> None:
    knobs = MeapKnobs(inputs=3, classes=classes, pairs=pairs, epsilon=epsilon, gamma=gamma)
    robust, violated = make(knobs, seed)
    written = Written(robust)
    box = written.case.box
    corners = product(*zip(box.lower, box.upper, strict=True))
    points = [*corners, *map(exact, sample(written.case, 30, seed)), witness(violated)]
    assert robust.truth.margin >= Fraction(repr(gamma))
    assert all(written.margin(point) >= robust.truth.margin for point in points)
    assert box.contains(witness(violated))
    assert Written(violated).margin(witness(violated)) == violated.truth.margin < 0


def test_the_margin_is_attained_when_all_pairs_meet_it() -> None:
    """With one input the kink of the lowest pair is often the minimum: the bound is tight."""
    tight = 0
    for seed in range(6):
        robust, _ = make(MeapKnobs(inputs=1, classes=2, pairs=2, epsilon=0.1, gamma=1.0), seed)
        written = Written(robust)
        (w1,), bias = zip(*written.layers[0][0], strict=True), written.layers[0][1]
        kinks = {
            (bias[j] - bias[i]) / (2 * w1[i]) for i in range(4) for j in range(4) if w1[i] == -w1[j]
        }
        inside = [k for k in kinks if written.case.box.contains([k])]
        tight += min(written.margin([k]) for k in inside) == robust.truth.margin
    assert tight >= 3


def test_both_units_of_every_pair_are_unstable_and_kinks_differ() -> None:
    robust, violated = make(MeapKnobs(pairs=16), 3)
    for instance in (robust, violated):
        written = Written(instance)
        (weight, bias), box = written.floats[0], written.case.box
        low = np.array([float(v) for v in box.lower])
        high = np.array([float(v) for v in box.upper])
        middle = weight @ ((low + high) / 2) + bias
        reach = np.abs(weight) @ ((high - low) / 2)
        assert (middle - reach < 0).all()
        assert (middle + reach > 0).all()
        assert len(np.unique(middle)) == len(middle)
        assert np.linalg.matrix_rank(weight) == 16


def test_the_twin_differs_in_one_pair_of_biases() -> None:
    robust, violated = map(Written, make(SMALL, 5))
    changed = [
        (np.count_nonzero(a[0] != b[0]), np.count_nonzero(a[1] != b[1]))
        for a, b in zip(robust.floats, violated.floats, strict=True)
    ]
    assert changed[0] == (0, 2)
    assert set(changed[1:]) == {(0, 0)}
    robust_truth, violated_truth = (i.truth for i in make(SMALL, 5))
    assert (robust_truth.twin, violated_truth.twin) == ("violated", "robust")
    assert robust_truth.facts["epsilon"] == "52429/524288"
    assert robust_truth.parameters["epsilon"] == 0.1


def test_onnx_runtime_is_within_the_error_bound() -> None:
    for instance in make(MeapKnobs(inputs=10, pairs=8, classes=4), 1):
        written = Written(instance)
        bounds = output_error(written.floats, written.case.box)
        points = sample(written.case, 40, 0)
        for point, found in zip(points, written.float32_outputs(points), strict=True):
            right = written.outputs(exact(point))
            for a, b, bound in zip(found, right, bounds, strict=True):
                assert abs(Fraction(float(a)) - b) <= bound


def test_guarded_labels_hold_in_float32() -> None:
    robust, violated = make(MeapKnobs(pairs=32, epsilon=0.05, gamma=1e-5), 0)
    assert robust.truth.guard == violated.truth.guard == "float32"
    written = Written(robust)
    assert (written.float32_margins(sample(written.case, 10_000, 1)) > 0).all()
    point = np.array([[float(v) for v in witness(violated)]], dtype=np.float32)
    assert exact(point[0]) == witness(violated)
    assert Written(violated).float32_margins(point)[0] < 0


@pytest.mark.parametrize("pairs", [2, 16, 32, 128])
@pytest.mark.parametrize(
    ("epsilon", "gamma"), [(0.05, 1e-5), (0.1, 1e-3), (0.25, 1.0), (0.5, 100.0)]
)
def test_the_papers_ranges_are_proved_by_the_checker(
    pairs: int, epsilon: float, gamma: float
) -> None:
    for instance in make(MeapKnobs(pairs=pairs, epsilon=epsilon, gamma=gamma), 0):
        verdict = check(instance.onnx, instance.vnnlib, instance.truth.to_json().encode(), None)
        assert (verdict.status, verdict.answer) == ("verified", instance.name), verdict.reason
        assert verdict.margin == instance.truth.margin


def test_same_seed_same_bytes_and_everything_else_differs() -> None:
    first, again = make(SMALL, 7), make(SMALL, 7)
    assert first == again
    settings = [
        (SMALL, 8),
        (SMALL.model_copy(update={"gamma": 0.02}), 7),
        (SMALL.model_copy(update={"epsilon": 0.2}), 7),
        (SMALL.model_copy(update={"instability": 2.0}), 7),
    ]
    others = [i.onnx for knobs, seed in settings for i in make(knobs, seed)]
    assert len({*others, *(i.onnx for i in first)}) == 10


def test_refusals_name_the_remedy() -> None:
    with pytest.raises(ValidationError, match="gama"):
        MeapKnobs(gama=1)  # type: ignore[call-arg]
    with pytest.raises(ValidationError, match="instability"):
        MeapKnobs(instability=0.9)
    with pytest.raises(ValidationError, match="weights"):
        MeapKnobs(inputs=10_000, pairs=1_000)
    with pytest.raises(BadInput, match="float32"):
        make(MeapKnobs(inputs=10_000, pairs=2, epsilon=1), 0)
    with pytest.raises(BadInput, match="lower instability"):
        make(MeapKnobs(inputs=1, pairs=2, instability=1000), 0)
