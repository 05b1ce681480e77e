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
from assay.bounds.interval_margin import excludes
from assay.bounds.linear import linear_margin_bounds
from assay.proof import reader
from assay.proof.chain import read_chain
from assay.proof.checker import check
from assay.proof.claim import Proof
from assay.proof.guard import output_errors
from assay.proof.interval import Interval
from assay.question.convolution import ConvLayer
from assay.question.exact import ExactFunction
from assay.question.floaterror import output_error
from assay.question.mlp_layers import chain_layers
from assay.question.runtime import FloatRunner
from assay.truth.cnn_design import squared_norms
from assay.truth.contracting_filters import by_orthogonality, by_row_sums
from assay.truth.contractive_cnn import ContractiveCnnKnobs, make
from assay.truth.instance import Instance
from assay.truth.randomness import generator


def knobs(**changes: Any) -> ContractiveCnnKnobs:
    return ContractiveCnnKnobs(**{"size": 4, "classes": 3, "channels": 4, "depth": 2, **changes})


def difference(written: WrittenCnn) -> torch.Tensor:
    """The row that reads the first rival's excess from the outputs."""
    row = torch.zeros(1, written.network.outputs, dtype=torch.float64)
    for index, coefficient in written.case.violation.disjuncts[0][0].terms:
        row[0, index] = float(coefficient)
    return row


def interval_margin(instance: Instance) -> float:
    written = WrittenCnn(instance)
    low, high = output_bounds(written.network, *enclosing_box(written.case.box))
    row = difference(written)
    return float((row.clamp(min=0) @ low[0] + row.clamp(max=0) @ high[0])[0])


def linear_margin(instance: Instance) -> float:
    written = WrittenCnn(instance)
    ends = enclosing_box(written.case.box)
    return float(linear_margin_bounds(written.network, *ends, difference(written))[0, 0])


@settings(max_examples=12, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    mixing=st.sampled_from(["rows", "hadamard"]),
    head=st.sampled_from(["centred", "linear"]),
    front=st.sampled_from([None, 4.0]),
    stride=st.sampled_from([1, 2]),
    colours=st.integers(1, 3),
    depth=st.integers(1, 4),
    gamma=st.sampled_from([1e-6, 1e-3, 0.1]),
)
def test_exact_margins_obey_the_label(seed: int, gamma: float, **chosen: Any) -> None:
    robust, violated = make(knobs(gamma=gamma, **chosen), seed)
    written, twin = WrittenCnn(robust), WrittenCnn(violated)
    points = [exact(row) for row in sample(written.case, 6, seed)] + [witness(violated)]
    assert all(written.margin(point) >= robust.truth.margin for point in points)
    assert twin.case.box.contains(witness(violated))
    assert twin.margin(witness(violated)) <= violated.truth.margin < 0


@pytest.mark.parametrize("mixing", ["rows", "hadamard"])
@pytest.mark.parametrize("head", ["centred", "linear"])
def test_the_slack_is_the_one_asked_for(mixing: str, head: str) -> None:
    for gamma in (1e-4, 1e-2):
        robust, _ = make(knobs(mixing=mixing, head=head, gamma=gamma), 1)
        asked = Fraction(repr(gamma))
        assert asked <= robust.truth.margin <= asked * Fraction(1001, 1000)


def test_the_twin_differs_by_one_bias_of_the_read_out() -> None:
    for head in ("centred", "linear"):
        robust, violated = map(WrittenCnn, make(knobs(head=head), 2))
        assert violated.differs_by_one_output_bias(robust)
        assert violated.margin(violated.middle) > 0


def test_the_architecture_has_a_front_end_and_strides() -> None:
    written = WrittenCnn(make(knobs(front=2.0, stride=2, colours=3, size=8), 0)[0])
    assert written.operators == ["Conv", "Relu"] * 3 + ["Flatten", "Gemm"]
    assert [w.shape for w in written.weights] == [(4, 3, 3, 3), (4, 4, 3, 3), (4, 4, 3, 3), (3, 64)]


def test_centred_rivals_are_zero_and_linear_ones_are_not() -> None:
    centred, linear = (WrittenCnn(make(knobs(head=h), 0)[0]) for h in ("centred", "linear"))
    assert (np.abs(centred.weights[-1]).sum(axis=1) > 0).sum() == 1
    assert (np.abs(linear.weights[-1]).sum(axis=1) > 0).all()


@pytest.mark.parametrize(("outputs", "inputs"), [(2, 1), (4, 4), (8, 3), (16, 16)])
def test_orthogonal_filters_have_the_stated_norm(outputs: int, inputs: int) -> None:
    draw = generator("test", knobs(), outputs)
    norm = Fraction(9, 10)
    filters = by_orthogonality(draw, norm, outputs, inputs)
    assert norm * Fraction(99, 100) < Fraction(filters.squared_norm) ** Fraction(1, 2) <= norm
    kernel = (filters.numerators * 2.0**filters.exponent).astype(np.float32)
    assert (kernel == filters.numerators * 2.0**filters.exponent).all()
    layer = ConvLayer(kernel, np.zeros(outputs, np.float32), (inputs, 5, 5))
    largest = float(np.linalg.norm(layer.dense()[0].astype(np.float64), 2))
    assert largest <= float(filters.squared_norm) ** 0.5 * (1 + 1e-9)
    # inside the image nothing is lost: the columns of the middle pixel are orthogonal
    columns = layer.dense()[0].astype(np.float64)[:, 12::25]
    assert np.allclose(columns.T @ columns, np.eye(inputs) * float(filters.squared_norm))


def test_row_sums_are_the_stated_norm() -> None:
    draw = generator("test", knobs(), 0)
    signs = np.array([1, -1, 1, 1])
    filters = by_row_sums(draw, Fraction(7, 10), (signs, signs[:3]), 0.25)
    sums = np.abs(filters.numerators).reshape(4, -1).sum(axis=1)
    assert len(set(sums.tolist())) == 1
    norm = int(sums[0]) * Fraction(2) ** filters.exponent
    assert Fraction(69, 100) < norm <= Fraction(7, 10)
    assert norm**2 == filters.squared_norm


def test_intervals_prove_every_contraction_in_l_inf() -> None:
    for depth in (1, 3, 6):
        robust, _ = make(knobs(mixing="rows", depth=depth, channels=8), 0)
        written = WrittenCnn(robust)
        assert excludes(written.network, written.case)


def test_intervals_and_linear_bounds_blow_up_with_depth_where_l2_contracts() -> None:
    intervals, lines = {}, {}
    for depth in (2, 4, 6):
        robust, _ = make(knobs(depth=depth, channels=8, size=6, classes=2), 0)
        intervals[depth], lines[depth] = interval_margin(robust), linear_margin(robust)
        assert robust.truth.margin > 0
        truth = robust.truth.to_json().encode()
        assert check(robust.onnx, robust.vnnlib, truth, None).status == "verified"
    assert intervals[6] < 3 * intervals[4] < 9 * intervals[2] < 0
    assert lines[6] < 2 * lines[4] < 0


def test_float32_errors_stay_below_what_both_implementations_allow() -> None:
    robust, _ = make(knobs(depth=6, channels=8, size=5, head="linear"), 4)
    written = WrittenCnn(robust)
    box, layers = written.case.box, chain_layers(written.network)
    plain = output_error(layers, box)
    followed = output_error(layers, box, None, squared_norms(robust.onnx))
    chain = read_chain(reader.read(robust.onnx))
    exact_bounds = output_errors(chain, Interval.of(box.lower, box.upper), Proof(Fraction(0)))
    checked = [Fraction(e, 1 << 180) for e in exact_bounds]
    assert sum(followed) < sum(plain) / 2
    assert all(a <= b for a, b in zip(checked, followed, strict=True))
    runner, function = FloatRunner(written.network), ExactFunction(written.network)
    for point in sample(written.case, 20, 3):
        values = runner.run(point[None])[0]
        right = function(exact(point))
        errors = [abs(Fraction(float(v)) - r) for v, r in zip(values, right, strict=True)]
        assert all(e <= b for e, b in zip(errors, checked, strict=True))


def test_deep_networks_keep_their_float32_guard() -> None:
    robust, violated = make(knobs(depth=10, channels=8, size=8, classes=10), 0)
    assert {robust.truth.guard, violated.truth.guard} == {"float32"}


@pytest.mark.parametrize(
    ("changes", "remedy"),
    [
        ({"contraction": 1.0}, "set it below 1"),
        ({"channels": 6}, "power of two, or mixing to rows"),
        ({"channels": 2, "colours": 3}, "raise channels"),
        ({"depth": 64, "channels": 64, "size": 32}, "lower depth, channels or size"),
        ({"depth": 64, "channels": 64, "size": 8}, "lower depth, channels or size"),
        ({"size": 2, "stride": 4}, "lower stride"),
    ],
)
def test_refusals_name_the_knob_to_turn(changes: dict[str, Any], remedy: str) -> None:
    with pytest.raises(ValidationError, match=remedy):
        knobs(**changes)
