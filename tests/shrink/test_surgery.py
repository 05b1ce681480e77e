"""Cuts that should keep the exact function do, and all of them give networks that fit together."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from dyadic_steps import RELU, cnns, inputs, matrices, mlps, outputs, points
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from assay.errors import Unsupported
from assay.question.graph import GraphBuilder
from assay.question.network import load
from assay.shrink.steps import Matrix, Steps, read_steps
from assay.shrink.surgery import cropped, cut_units, folded_inputs, kept_outputs, merged
from assay.shrink.values import entering

few = settings(max_examples=40, deadline=None)


@few
@given(st.data(), st.one_of(mlps(), cnns()))
def test_what_is_written_is_read_back_in_the_same_form(data: st.DataObject, steps: Steps) -> None:
    again = read_steps(load(steps.onnx(), "steps"))
    assert again.onnx() == steps.onnx()
    assert [type(step) for step in again.items] == [type(step) for step in steps.items]
    point = data.draw(points(inputs(steps)))
    assert outputs(again, point) == outputs(steps, point)


@few
@given(st.data(), mlps(least_inputs=2))
def test_folding_fixed_inputs_keeps_the_function(data: st.DataObject, steps: Steps) -> None:
    count = inputs(steps)
    point = data.draw(points(count))
    gone = data.draw(st.sets(st.integers(0, count - 1), min_size=1, max_size=count - 1))
    less = folded_inputs(steps, {i: point[i] for i in gone})
    assert less is not None
    kept = [value for i, value in enumerate(point) if i not in gone]
    assert inputs(less) == len(kept)
    assert outputs(less, kept) == outputs(steps, point)


@few
@given(st.data(), st.one_of(mlps(), cnns()))
def test_a_dead_unit_can_go(data: st.DataObject, steps: Steps) -> None:
    """A unit that nothing reads: its weights in the next layer are zero."""
    places = [p for p in steps.weighted()[:-1] if steps.shapes[p + 1][1] > 1]
    assume(places)
    place = data.draw(st.sampled_from(places))
    width = steps.shapes[place + 1][1]
    unit = data.draw(st.integers(0, width - 1))
    after = next(i for i in steps.weighted() if i > place)
    reader = steps.items[after]
    if isinstance(reader, Matrix):
        weight = reader.weight.reshape(len(reader.weight), width, -1).copy()
        weight[:, unit] = 0
        deaf = replace(reader, weight=weight.reshape(reader.weight.shape))
    else:
        kernel = reader.kernel.copy()  # type: ignore[union-attr]
        kernel[:, unit] = 0
        deaf = replace(reader, kernel=kernel)  # type: ignore[type-var]
    steps = steps.with_step(after, deaf)
    less = cut_units(steps, place, [unit])
    assert less is not None
    assert less.shapes[place + 1][1] == width - 1
    point = data.draw(points(inputs(steps)))
    assert outputs(less, point) == outputs(steps, point)


@few
@given(st.data(), mlps())
def test_a_frozen_unit_leaves_the_outputs_at_the_point(data: st.DataObject, steps: Steps) -> None:
    places = [p for p in steps.weighted()[:-1] if steps.shapes[p + 1][1] > 1]
    assume(places)
    place = data.draw(st.sampled_from(places))
    units = range(data.draw(st.integers(1, steps.shapes[place + 1][1] - 1)))
    point = data.draw(points(inputs(steps)))
    after = next(i for i in steps.weighted() if i > place)
    less = cut_units(steps, place, units, entering(steps, after, point))
    assert less is not None
    assert outputs(less, point) == outputs(steps, point)


@few
@given(st.data(), st.integers(1, 4), st.integers(1, 4), st.integers(1, 4))
def test_matrices_with_nothing_between_become_one(
    data: st.DataObject, first: int, second: int, third: int
) -> None:
    pair = data.draw(matrices(first, second)), data.draw(matrices(second, third))
    steps = Steps((1, first), (*pair, RELU, data.draw(matrices(third, 2))))
    less = merged(steps, 0)
    assert len(less.items) == 3
    point = data.draw(points(first))
    assert outputs(less, point) == outputs(steps, point)


@few
@given(st.data(), mlps())
def test_a_straightened_layer_keeps_the_outputs_at_the_point(
    data: st.DataObject, steps: Steps
) -> None:
    assume(len(steps.items) > 1)
    point = data.draw(points(inputs(steps)))
    active = entering(steps, 2, point) > 0
    assert outputs(merged(steps, 0, active.astype(float)), point) == outputs(steps, point)


@few
@given(st.data(), st.one_of(mlps(), cnns()))
def test_outputs_that_stay_are_the_same(data: st.DataObject, steps: Steps) -> None:
    count = steps.shapes[-1][1]
    kept = sorted(data.draw(st.sets(st.integers(0, count - 1), min_size=1)))
    less = kept_outputs(steps, kept)
    assert less is not None
    point = data.draw(points(inputs(steps)))
    whole = outputs(steps, point)
    assert outputs(less, point) == [whole[i] for i in kept]


@few
@given(st.data(), cnns())
def test_a_cropped_image_fits(data: st.DataObject, steps: Steps) -> None:
    axis = data.draw(st.sampled_from([1, 2, 3]))
    size = steps.input_shape[axis]
    kept = sorted(data.draw(st.sets(st.integers(0, size - 1), min_size=1)))
    less = cropped(steps, axis, kept)
    if less is None:
        assert axis != 1
        assert len(kept) < 2
        return
    assert less.input_shape[axis] == len(kept)
    network = load(less.onnx(), "cropped")
    assert network.shapes[network.output_name] == (1, 2)


def test_networks_that_branch_are_not_steps() -> None:
    graph = GraphBuilder((1, 2))
    eye = np.eye(2, dtype=np.float32)
    onnx = graph.build(graph.add(graph.gemm(graph.input, eye), graph.gemm(graph.input, eye)))
    with pytest.raises(Unsupported):
        read_steps(load(onnx, "branches"))


def test_the_last_input_cannot_be_folded() -> None:
    steps = Steps((1, 1), (Matrix(np.ones((1, 1), np.float32), None),))
    assert folded_inputs(steps, {0: Fraction(1)}) is None
