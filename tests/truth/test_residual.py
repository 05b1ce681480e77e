from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch
from cnn_instances import WrittenCnn
from hypothesis import given, settings
from hypothesis import strategies as st
from independent import exact, sample, witness
from pydantic import ValidationError

from assay.bounds.interval import enclosing_box, output_bounds
from assay.bounds.linear import linear_margin_bounds
from assay.proof.checker import check
from assay.truth.instance import Instance
from assay.truth.potential_blocks import drawn_block
from assay.truth.randomness import generator
from assay.truth.residual import ResidualKnobs, make


def knobs(**changes: Any) -> ResidualKnobs:
    return ResidualKnobs(**{"inputs": 8, "classes": 3, "width": 4, "depth": 3, **changes})


def plain_bounds(instance: Instance) -> tuple[float, float]:
    """What intervals and lines say about the first rival."""
    written = WrittenCnn(instance)
    row = torch.zeros(1, written.network.outputs, dtype=torch.float64)
    for index, coefficient in written.case.violation.disjuncts[0][0].terms:
        row[0, index] = float(coefficient)
    ends = enclosing_box(written.case.box)
    low, high = output_bounds(written.network, *ends)
    interval = float((row.clamp(min=0) @ low[0] + row.clamp(max=0) @ high[0])[0])
    return interval, float(linear_margin_bounds(written.network, *ends, row)[0, 0])


@settings(max_examples=15, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    mixing=st.sampled_from(["hadamard", "dense"]),
    head=st.sampled_from(["centred", "linear"]),
    features=st.sampled_from([None, 8, 16]),
    width=st.sampled_from([1, 4, 11]),
    depth=st.integers(1, 5),
    step=st.sampled_from([0.3, 1.0, 2.0]),
    instability=st.sampled_from([0.0, 0.5, 1.0]),
    gamma=st.sampled_from([1e-6, 1e-3, 0.1]),
)
def test_exact_margins_obey_the_label(seed: int, **chosen: Any) -> None:
    robust, violated = make(knobs(**chosen), seed)
    written, twin = WrittenCnn(robust), WrittenCnn(violated)
    points = [exact(row) for row in sample(written.case, 6, seed)] + [witness(violated)]
    assert all(written.margin(point) >= robust.truth.margin for point in points)
    assert twin.case.box.contains(witness(violated))
    assert twin.margin(witness(violated)) <= violated.truth.margin < 0
    certified, attained = (
        Fraction(robust.truth.facts[f"drop_{k}"]) for k in ("certified", "attained")
    )
    assert 0 <= attained <= certified


@pytest.mark.parametrize("mixing", ["hadamard", "dense"])
@pytest.mark.parametrize("head", ["centred", "linear"])
def test_the_slack_is_the_one_asked_for(mixing: str, head: str) -> None:
    for gamma in (1e-4, 1e-2):
        robust, _ = make(knobs(mixing=mixing, head=head, gamma=gamma), 1)
        asked = Fraction(repr(gamma))
        assert asked <= robust.truth.margin <= asked + Fraction(1, 2**20)


def test_the_twin_differs_by_one_bias_of_the_read_out() -> None:
    for head in ("centred", "linear"):
        robust, violated = map(WrittenCnn, make(knobs(head=head), 2))
        assert violated.differs_by_one_output_bias(robust)
        assert violated.margin(violated.middle) > 0


def test_the_architecture_is_stem_blocks_and_read_out() -> None:
    block = ["Gemm", "Relu", "Gemm", "Add"]
    written = WrittenCnn(make(knobs(inputs=5, features=8, depth=2), 0)[0])
    assert written.operators == ["Gemm", *block, *block, "Gemm"]
    shapes = [(8, 5), (4, 8), (8, 4), (4, 8), (8, 4), (3, 8)]
    assert [weight.shape for weight in written.weights] == shapes
    assert WrittenCnn(make(knobs(), 0)[0]).operators == [*block, *block, *block, "Gemm"]
    stem = written.weights[0].astype(np.float64)
    assert np.allclose(stem.T @ stem, stem[:, 0] @ stem[:, 0] * np.eye(5))
    assert 0.98 < stem[:, 0] @ stem[:, 0] <= 1


@pytest.mark.parametrize(("units", "features"), [(1, 1), (4, 16), (16, 16), (20, 8), (8, 32)])
@pytest.mark.parametrize("step", [2.0, 1.0, 0.7])
def test_eigenvalues_are_the_step_asked_for(units: int, features: int, step: float) -> None:
    for mixing in ("hadamard", "dense"):
        draw = generator("test", knobs(), units)
        block = drawn_block(draw, mixing, units, features, Fraction(repr(step)))  # type: ignore[arg-type]
        gram = -block.outer.astype(np.float64) @ block.weight.astype(np.float64)
        largest = float(np.linalg.eigvalsh(gram).max())
        # rows left out of a stack of Hadamard matrices make it smaller
        full = mixing == "dense" or units <= features
        assert step * (0.97 if full else 0.5) < largest <= step * (1 + 1e-12)


def test_orthogonal_rows_of_step_2_are_mirrors() -> None:
    block = drawn_block(generator("test", knobs(), 0), "hadamard", 8, 32, Fraction(2))
    weight, outer = block.weight.astype(np.float64), block.outer.astype(np.float64)
    draw = np.random.default_rng(0)
    for _ in range(5):
        opened = np.diag(draw.integers(0, 2, 8))
        jacobian = np.eye(32) + outer @ opened @ weight
        assert (jacobian @ jacobian.T == np.eye(32)).all()


def test_instability_is_the_share_of_units_near_zero_at_the_centre() -> None:
    for share in (0.0, 0.5, 1.0):
        robust, _ = make(knobs(inputs=16, width=16, depth=1, instability=share), 0)
        written = WrittenCnn(robust)
        middle = np.array([float(v) for v in written.middle])
        weight, bias = written.weights[0].astype(np.float64), written.biases[0]
        corners = np.random.default_rng(1).choice([-0.02, 0.02], size=(200, 16))
        values = (middle + corners) @ weight.T + bias
        crossing = (values.min(axis=0) < 0) & (values.max(axis=0) > 0)
        at_centre = np.abs(weight @ middle + bias)
        near = at_centre < 0.6 * np.ptp(values, axis=0) / 2
        assert abs(near.mean() - share) <= 0.2
        assert crossing.mean() >= near.mean()


def test_intervals_and_linear_bounds_blow_up_with_depth_where_the_proof_does_not() -> None:
    found = {}
    for depth in (2, 6, 12):
        robust, _ = make(knobs(depth=depth, inputs=32, width=8, classes=2), 0)
        found[depth] = plain_bounds(robust)
        truth = robust.truth.to_json().encode()
        assert check(robust.onnx, robust.vnnlib, truth, None).status == "verified"
    assert found[12][0] < 1000 * found[6][0] < 10**6 * found[2][0] < 0
    assert found[12][1] < 3 * found[6][1] < 0


def test_mirrors_attain_half_of_the_certified_drop_or_more() -> None:
    for depth in (1, 4, 8):
        facts = make(knobs(inputs=32, width=8, depth=depth), 0)[0].truth.facts
        certified, attained = (Fraction(facts[f"drop_{k}"]) for k in ("certified", "attained"))
        assert attained <= certified <= 2 * attained


def test_deep_networks_keep_their_float32_guard() -> None:
    robust, violated = make(knobs(inputs=32, width=8, depth=32, classes=10), 0)
    assert {robust.truth.guard, violated.truth.guard} == {"float32"}


@pytest.mark.parametrize(
    ("changes", "remedy"),
    [
        ({"step": 2.5}, "set it to at most 2"),
        ({"inputs": 12}, "set features to a power of two, or mixing to dense"),
        ({"inputs": 12, "features": 8}, "set features to one, or to null"),
        ({"mixing": "dense", "features": 12}, "set features to one, or to null"),
        ({"inputs": 128, "width": 100}, "lower width, or inputs and features, to 64"),
        ({"inputs": 512, "width": 64, "depth": 64}, "lower depth, width or features"),
    ],
)
def test_refusals_name_the_knob_to_turn(changes: dict[str, Any], remedy: str) -> None:
    with pytest.raises(ValidationError, match=remedy):
        knobs(**changes)
