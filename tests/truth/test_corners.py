from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from independent import Written, exact, sample, witness
from pydantic import ValidationError

from assay.proof.checker import check
from assay.question.floaterror import output_error
from assay.truth.corner_maximum import Hinges, corner_maxima
from assay.truth.corners import CornersKnobs, make

SMALL = CornersKnobs(inputs=7, classes=4, hinges=12, active=5, gamma=0.01)
WINDOWED = CornersKnobs(inputs=9, classes=3, hinges=14, active=7, window=3, gamma=0.001)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    active=st.integers(1, 7),
    window=st.integers(1, 4),
    count=st.integers(1, 9),
)
def test_the_dynamic_programme_finds_the_best_corner(
    seed: int, active: int, window: int, count: int
) -> None:
    width = min(window, active)
    draw = np.random.default_rng(seed)
    hinges = Hinges(
        draw.integers(-9, 10, (count, width)),
        draw.integers(-20, 21, count),
        draw.integers(0, active - width + 1, count),
    )
    weights = draw.integers(0, 5, (2, count))
    lower = draw.integers(-5, 5, active)
    upper = lower + draw.integers(0, 6, active)

    def value(row: int, point: tuple[int, ...]) -> int:
        total = 0
        for j in range(count):
            part = point[hinges.starts[j] : hinges.starts[j] + width]
            inner = sum(int(a) * x for a, x in zip(hinges.slopes[j], part, strict=True))
            total += int(weights[row, j]) * max(inner + int(hinges.offsets[j]), 0)
        return total

    maxima, corners = corner_maxima(hinges, weights, lower, upper)
    ends = list(zip(lower.tolist(), upper.tolist(), strict=True))
    for row in (0, 1):
        assert maxima[row] == max(value(row, point) for point in product(*ends))
        best = tuple(end[high] for end, high in zip(ends, corners[row], strict=True))
        assert value(row, best) == maxima[row]


@pytest.mark.parametrize("knobs", [SMALL, WINDOWED])
@pytest.mark.parametrize("hinge_l1", [1e-4, 1.0, 1e6])
def test_the_margin_is_the_exact_minimum_over_all_corners(
    knobs: CornersKnobs, hinge_l1: float
) -> None:
    knobs = knobs.model_copy(update={"hinge_l1": hinge_l1})
    robust, violated = make(knobs, 11)
    written = Written(robust)
    box = written.case.box
    margins = [written.margin(p) for p in product(*zip(box.lower, box.upper, strict=True))]
    assert min(margins) == robust.truth.margin >= Fraction(repr(knobs.gamma))
    inside = map(exact, sample(written.case, 50, 0))
    assert all(written.margin(point) >= robust.truth.margin for point in inside)
    assert box.contains(witness(violated))
    assert Written(violated).margin(witness(violated)) == violated.truth.margin < 0
    centre = [(low + high) / 2 for low, high in zip(box.lower, box.upper, strict=True)]
    assert Written(violated).margin(centre) > 0


def test_every_class_competes_and_the_margin_is_not_constant() -> None:
    written = Written(make(SMALL, 2)[0])
    assert written.operators == ["Gemm", "Relu", "Gemm"]
    readout = written.floats[-1][0]
    rivals = np.delete(readout, written.label, axis=0)
    assert not readout[written.label].any()
    assert len(np.unique(rivals, axis=0)) == 3
    assert (rivals >= 0).all()
    points = [exact(p) for p in sample(written.case, 30, 3)]
    outputs = np.array([[float(v) for v in written.outputs(p)] for p in points])
    assert (np.delete(outputs, written.label, axis=1).std(axis=0) > 0).all()


@pytest.mark.parametrize("knobs", [SMALL, WINDOWED, CornersKnobs(hinges=256, active=100, window=8)])
def test_hinges_are_unstable_sized_as_asked_and_local(knobs: CornersKnobs) -> None:
    written = Written(make(knobs, 4)[0])
    (weight, bias), box = written.floats[0], written.case.box
    low = np.array([float(v) for v in box.lower])
    high = np.array([float(v) for v in box.upper])
    middle = weight @ ((low + high) / 2) + bias
    reach = np.abs(weight) @ ((high - low) / 2)
    assert (np.abs(middle) < reach / 2).all()
    assert np.count_nonzero(middle) > len(middle) // 2
    norms = np.abs(weight).sum(axis=1)
    assert 0.8 * knobs.hinge_l1 < norms.mean() < 1.3 * knobs.hinge_l1
    active = np.flatnonzero(weight.any(axis=0))
    assert len(active) == knobs.active
    spans = [np.searchsorted(active, np.flatnonzero(row)) for row in weight]
    width = knobs.active if knobs.window is None else knobs.window
    assert all(s[-1] - s[0] + 1 == width == len(s) for s in spans)


def test_the_twin_differs_in_one_output_bias() -> None:
    robust, violated = map(Written, make(WINDOWED, 5))
    (first, last), (twin_first, twin_last) = robust.floats, violated.floats
    assert all((a == b).all() for a, b in zip(first, twin_first, strict=True))
    assert (last[0] == twin_last[0]).all()
    assert np.count_nonzero(last[1] != twin_last[1]) == 1


def test_onnx_runtime_is_within_the_error_bound() -> None:
    for instance in make(CornersKnobs(inputs=10, hinges=64, hinge_l1=100, classes=4), 1):
        written = Written(instance)
        bounds = output_error(written.floats, written.case.box)
        points = sample(written.case, 40, 0)
        for point, found in zip(points, written.float32_outputs(points), strict=True):
            right = written.outputs(exact(point))
            for a, b, bound in zip(found, right, bounds, strict=True):
                assert abs(Fraction(float(a)) - b) <= bound


def test_guarded_labels_hold_in_float32_and_knife_edges_are_marked() -> None:
    robust, violated = make(CornersKnobs(hinges=256, hinge_l1=10), 0)
    assert robust.truth.guard == violated.truth.guard == "float32"
    written = Written(robust)
    assert (written.float32_margins(sample(written.case, 10_000, 1)) > 0).all()
    point = np.array([[float(v) for v in witness(violated)]], dtype=np.float32)
    assert exact(point[0]) == witness(violated)
    assert Written(violated).float32_margins(point)[0] < 0
    edge = CornersKnobs(hinges=1024, hinge_l1=1e6, gamma=0.01)
    assert make(edge, 0)[0].truth.guard == "real"


@pytest.mark.parametrize(
    "knobs",
    [
        CornersKnobs(hinges=16, hinge_l1=1e-4),
        CornersKnobs(hinges=1024, hinge_l1=1e6),
        CornersKnobs(hinges=512, active=100, window=6),
    ],
)
def test_the_checker_proves_both_sides(knobs: CornersKnobs) -> None:
    for instance in make(knobs, 0):
        verdict = check(instance.onnx, instance.vnnlib, instance.truth.to_json().encode(), None)
        assert (verdict.status, verdict.answer) == ("verified", instance.name), verdict.reason
        assert verdict.margin == instance.truth.margin


def test_the_largest_setting_is_made() -> None:
    knobs = CornersKnobs(hinges=4096, active=100, window=8, gamma=0.01)
    robust, _ = make(knobs, 0)
    assert robust.truth.margin >= Fraction("0.01")


def test_the_margin_follows_the_steepest_climb() -> None:
    shares = [
        make(CornersKnobs(hinges=64, hinge_l1=scale, gamma_share=0.5), 3)[0].truth.margin
        for scale in (1.0, 1024.0)
    ]
    # the same draw at another scale would scale the margin; other draws do so roughly
    assert 64 < shares[1] / shares[0] < 16_384


def test_same_seed_same_bytes_and_everything_else_differs() -> None:
    first, again = make(SMALL, 7), make(SMALL, 7)
    assert first == again
    settings = [
        (SMALL, 8),
        (SMALL.model_copy(update={"gamma": 0.02}), 7),
        (SMALL.model_copy(update={"hinge_l1": 2.0}), 7),
        (SMALL.model_copy(update={"window": 2}), 7),
    ]
    others = [i.onnx for knobs, seed in settings for i in make(knobs, seed)]
    assert len({*others, *(i.onnx for i in first)}) == 10


def test_refusals_name_the_remedy() -> None:
    with pytest.raises(ValidationError, match="hinge_11"):
        CornersKnobs(hinge_11=1)  # type: ignore[call-arg]
    for knobs, remedy in [
        ({"inputs": 5}, "active"),
        ({"active": 4, "window": 5}, "window"),
        ({"active": 100}, "window of about 8"),
        ({"hinges": 4096, "active": 16}, "window of about 8"),
        ({"inputs": 20, "classes": 1000, "hinges": 16, "active": 19}, "too many to certify"),
        ({"inputs": 10_000, "hinges": 10_000}, "weights"),
    ]:
        with pytest.raises(ValidationError, match=remedy):
            CornersKnobs.model_validate(knobs)


@pytest.mark.parametrize(
    "knobs",
    [
        CornersKnobs(hinges=128, active=16),
        CornersKnobs(inputs=20, classes=10, hinges=16, active=18),
        CornersKnobs(hinges=4096, active=100, window=9),
    ],
)
def test_what_the_knobs_admit_the_checker_can_prove(knobs: CornersKnobs) -> None:
    robust = make(knobs, 0)[0]
    verdict = check(robust.onnx, robust.vnnlib, robust.truth.to_json().encode(), None)
    assert verdict.status == "verified", verdict.reason
