from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from independent import Written, exact, sample, witness
from numpy.typing import NDArray
from pydantic import ValidationError

from assay.errors import CannotCertify
from assay.proof.checker import check
from assay.question.floaterror import output_error
from assay.truth.assemble import mlp_outputs
from assay.truth.constant_box import ConstantBoxKnobs, make

GATES = ConstantBoxKnobs(inputs=8, classes=3, depth=2, width=12, latent=4)
HINGES = GATES.model_copy(update={"collapse": "hinges"})
Floats = NDArray[np.float64]


def ends(written: Written) -> tuple[Floats, Floats]:
    box = written.case.box
    return np.array([float(v) for v in box.lower]), np.array([float(v) for v in box.upper])


def interval(weight: Floats, bias: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    up, down = np.maximum(weight, 0), np.minimum(weight, 0)
    return up @ low + down @ high + bias, up @ high + down @ low + bias


def chord_bound(written: Written) -> Floats:
    """Upper bounds of the gates when each hinge is replaced by its chord over its interval."""
    (a, b), (c, beta) = written.floats[:2]
    low, high = ends(written)
    below, above = interval(a, b, low, high)
    slope = above / (above - below)
    middle, radius = (low + high) / 2, (high - low) / 2
    line = (c * slope) @ a.astype(float)
    return line @ middle + np.abs(line) @ radius + c @ (slope * (b - below)) + beta


@pytest.mark.parametrize("knobs", [GATES, HINGES])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_outputs_are_one_constant_with_the_stated_margin(
    knobs: ConstantBoxKnobs, seed: int
) -> None:
    robust, violated = make(knobs, seed)
    written = Written(robust)
    box = written.case.box
    corners = product(*zip(box.lower, box.upper, strict=True))
    points = [*corners, *map(exact, sample(written.case, 20, seed)), witness(violated)]
    gamma = Fraction(repr(knobs.gamma))
    values = {tuple(written.outputs(point)) for point in points}
    assert len(values) == 1
    margin = written.margin(points[0])
    assert robust.truth.margin <= margin <= robust.truth.margin * (1 + Fraction(1, 2**50))
    assert gamma <= robust.truth.margin <= gamma * Fraction(101, 100)
    assert box.contains(witness(violated))
    found = Written(violated).margin(witness(violated))
    assert found <= violated.truth.margin < 0


def test_the_dead_layer_is_dead_by_eta_at_every_corner() -> None:
    for knobs, layer in ((GATES, 1), (HINGES, 0)):
        written = Written(make(knobs, 4)[0])
        box = written.case.box
        corners = product(*zip(box.lower, box.upper, strict=True))
        highest = max(max(written.preactivations(point)[layer]) for point in corners)
        assert -Fraction(2, 1000) < highest <= -Fraction(1, 1000)


def test_interval_and_chord_bounds_leave_every_gate_open() -> None:
    for seed in range(3):
        written = Written(make(ConstantBoxKnobs(depth=1), seed)[0])
        (a, b), (c, beta) = written.floats[:2]
        low, high = interval(a, b, *ends(written))
        _, opening = interval(c, beta, np.maximum(low, 0), np.maximum(high, 0))
        assert (opening > -beta / 3).all()
        assert (chord_bound(written) > -beta / 8).all()


def test_intervals_behind_open_gates_lose_everything() -> None:
    written = Written(make(ConstantBoxKnobs(depth=5), 0)[0])
    low, high = ends(written)
    for position, (weight, bias) in enumerate(written.floats):
        if position:
            low, high = np.maximum(low, 0), np.maximum(high, 0)
        low, high = interval(weight.astype(float), bias, low, high)
    rivals = np.delete(high, written.label).max()
    assert low[written.label] - rivals < -1e5


def test_intervals_see_through_the_easy_control() -> None:
    written = Written(make(ConstantBoxKnobs(depth=5, collapse="hinges"), 0)[0])
    low, high = ends(written)
    _, opening = interval(*written.floats[0], low, high)
    assert (opening < 0).all()


@pytest.mark.parametrize("knobs", [GATES, HINGES])
def test_the_twin_differs_in_one_threshold(knobs: ConstantBoxKnobs) -> None:
    robust, violated = map(Written, make(knobs, 5))
    changed = [
        (np.count_nonzero(a[0] != b[0]), np.count_nonzero(a[1] != b[1]))
        for a, b in zip(robust.floats, violated.floats, strict=True)
    ]
    sides = 1 if knobs.collapse == "gates" else 0
    assert changed.pop(sides) == (0, 1)
    assert set(changed) == {(0, 0)}
    box = robust.case.box
    centre = [(low + high) / 2 for low, high in zip(box.lower, box.upper, strict=True)]
    assert violated.margin(centre) > 0


def test_depths_are_distinct_networks_of_the_stated_shape() -> None:
    sizes = {}
    for depth in (1, 2, 5):
        written = Written(make(ConstantBoxKnobs(depth=depth), 0)[0])
        sizes[depth] = [len(b) for _, b in written.floats]
        assert written.operators == ["Gemm", "Relu"] * (depth + 2) + ["Gemm"]
        assert sizes[depth] == [384, 32, *[256] * depth, 10]


@pytest.mark.parametrize(
    "knobs",
    [GATES, HINGES, ConstantBoxKnobs(depth=2, collapse="hinges"), ConstantBoxKnobs(depth=10)],
)
def test_the_checker_proves_both_sides(knobs: ConstantBoxKnobs) -> None:
    for instance in make(knobs, 0):
        verdict = check(instance.onnx, instance.vnnlib, instance.truth.to_json().encode(), None)
        assert (verdict.status, verdict.answer) == ("verified", instance.name), verdict.reason


def test_margins_of_deep_networks_are_short_and_safe() -> None:
    robust, violated = make(ConstantBoxKnobs(depth=30, width=16), 0)
    for instance in (robust, violated):
        margin = instance.truth.margin
        assert margin.numerator.bit_length() <= 60
        written = Written(instance)
        point = witness(violated)
        true = written.margin(point)
        assert abs(true - margin) < abs(margin) / 2**58
        assert true >= margin if instance is robust else true <= margin
        assert mlp_outputs(written.floats, point) == written.outputs(point)


def test_onnx_runtime_is_within_the_error_bound() -> None:
    for knobs in (GATES, HINGES):
        for instance in make(knobs, 1):
            written = Written(instance)
            bounds = output_error(written.floats, written.case.box)
            points = sample(written.case, 30, 0)
            for point, found in zip(points, written.float32_outputs(points), strict=True):
                right = written.outputs(exact(point))
                for a, b, bound in zip(found, right, bounds, strict=True):
                    assert abs(Fraction(float(a)) - b) <= bound


def test_guarded_labels_hold_in_float32() -> None:
    robust, violated = make(ConstantBoxKnobs(depth=2, collapse="hinges"), 0)
    assert robust.truth.guard == violated.truth.guard == "float32"
    written = Written(robust)
    assert (written.float32_margins(sample(written.case, 10_000, 1)) > 0).all()
    point = np.array([[float(v) for v in witness(violated)]], dtype=np.float32)
    assert exact(point[0]) == witness(violated)
    assert Written(violated).float32_margins(point)[0] < 0
    assert make(ConstantBoxKnobs(depth=20, width=64), 0)[0].truth.guard == "real"


def test_same_seed_same_bytes_and_everything_else_differs() -> None:
    first, again = make(GATES, 7), make(GATES, 7)
    assert first == again
    settings = [
        (GATES, 8),
        (HINGES, 7),
        (GATES.model_copy(update={"depth": 3}), 7),
        (GATES.model_copy(update={"gamma": 0.02}), 7),
    ]
    others = [i.onnx for knobs, seed in settings for i in make(knobs, seed)]
    assert len({*others, *(i.onnx for i in first)}) == 10


def test_refusals_name_the_remedy() -> None:
    with pytest.raises(ValidationError, match="wide_layers"):
        ConstantBoxKnobs(wide_layers=5)  # type: ignore[call-arg]
    with pytest.raises(ValidationError, match="lower depth"):
        ConstantBoxKnobs(depth=200, width=2048)
    with pytest.raises(ValidationError, match="lower depth"):
        ConstantBoxKnobs(inputs=10_000, collapse="hinges")
    with pytest.raises(CannotCertify, match="raise gain"):
        make(GATES.model_copy(update={"gamma": 1000.0}), 0)
