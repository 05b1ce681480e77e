"""Passes one by one: what they take away, and that they leave other networks alone."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from wrong_tools import tip

from assay.errors import AssayError
from assay.question import vnnlib
from assay.question.convolution import ConvLayer
from assay.question.exact import evaluate
from assay.question.graph import GraphBuilder, chain
from assay.question.property import Inequality, Violation
from assay.question.region import Box
from assay.shrink.draft import Draft
from assay.shrink.passes import PASSES
from assay.shrink.passes.bounds import ONE_BIT_BOUNDS
from assay.shrink.passes.disjuncts import DISJUNCTS, INEQUALITIES
from assay.shrink.passes.inputs import FIX_INPUTS, FOLD_INPUTS
from assay.shrink.passes.narrow import NARROW
from assay.shrink.passes.outputs import OUTPUTS
from assay.shrink.passes.weights import POWER_WEIGHTS, UNIT_WEIGHTS, ZERO_WEIGHTS, to_bits
from assay.shrink.reduction import Reduction
from assay.shrink.size import cost, costs, measure, size


def applied(reduction: Reduction, draft: Draft, start: int = 0, stop: int | None = None) -> Draft:
    last = reduction.places(draft) if stop is None else stop
    found = reduction.apply(draft, start, last)
    assert found is not None
    return found


def cnn() -> Draft:
    kernel = np.arange(1, 19, dtype=np.float32).reshape(2, 1, 3, 3) / 16
    layers = [
        ConvLayer(kernel, np.zeros(2, np.float32), (1, 3, 3)),
        (np.ones((2, 18), np.float32), np.zeros(2, np.float32)),
    ]
    box = Box((Fraction(0),) * 9, (Fraction(1),) * 9)
    question = vnnlib.write(box, Violation.misclassification(0, 2))
    return Draft(chain(layers), question.encode(), (Fraction(1, 2),) * 9)


@pytest.mark.parametrize("make", [tip, cnn])
@pytest.mark.parametrize("reduction", PASSES, ids=lambda r: r.name.replace(" ", "-"))
def test_single_places_give_smaller_questions_or_nothing(
    reduction: Reduction, make: object
) -> None:
    draft = make()  # type: ignore[operator]
    for place in range(reduction.places(draft)):
        try:
            less = reduction.apply(draft, place, place + 1)
        except AssayError:
            continue  # what the search takes for a candidate that does not fit
        if less is not None and less.key != draft.key:
            assert len(less.point) == less.network.inputs
            assert less.case.box.contains(less.point)
            smaller = reduction not in (OUTPUTS,) or size(less).outputs < size(draft).outputs
            assert smaller
            assert measure(less) != measure(draft)


def test_disjuncts_and_outputs_go_together() -> None:
    draft = tip()
    less = applied(OUTPUTS, draft, 3, 4)
    assert size(less).outputs == 3
    assert size(less).disjuncts == 2
    assert OUTPUTS.apply(draft, 0, 1) is None, "all disjuncts speak of the label"
    assert DISJUNCTS.apply(draft, 0, 3) is None
    assert size(applied(DISJUNCTS, draft, 0, 2)).disjuncts == 1


def test_inequalities_go_one_by_one() -> None:
    draft = tip()
    pair = tuple(Inequality(((i, Fraction(1)),), Fraction(3)) for i in (1, 2))
    both = draft.with_violation(Violation(4, (pair,)))
    assert applied(INEQUALITIES, both, 0, 1).case.violation.disjuncts == ((pair[1],),)
    assert INEQUALITIES.apply(both, 0, 2) is None


def test_fixed_inputs_are_folded_away() -> None:
    draft = tip()
    fixed = applied(FIX_INPUTS, draft, 1, 3)
    assert fixed.fixed() == [1, 2]
    less = applied(FOLD_INPUTS, fixed)
    assert size(less).inputs == 1
    half = [Fraction(1, 2)]
    assert evaluate(less.network, half) == evaluate(
        draft.network, [*half, Fraction(0), Fraction(0)]
    )
    everything = applied(FIX_INPUTS, draft)
    assert FOLD_INPUTS.apply(everything, 0, 3) is None, "one input must stay"


def test_the_box_is_halved_towards_the_point_but_not_for_ever() -> None:
    draft = tip()
    for _ in range(20):
        if NARROW.places(draft):
            draft = applied(NARROW, draft)
    assert NARROW.places(draft) == 0
    assert draft.case.box.upper[0] == Fraction(1, 32)


def test_weights_get_shorter_and_only_those_that_can() -> None:
    array = np.array([0, 1, -1, 0.75, 1 / 3], np.float32)
    assert costs(array).tolist() == [0, 1, 1, 3, 25]
    assert to_bits(array, 1).tolist() == [0, 1, -1, 1, 0.25]
    draft = tip()
    assert ZERO_WEIGHTS.places(draft) == size(draft).weights
    assert UNIT_WEIGHTS.places(draft) == 5
    assert POWER_WEIGHTS.places(draft) == 0
    assert size(applied(ZERO_WEIGHTS, draft)).weights == 0


def test_weights_of_any_graph_can_be_simplified() -> None:
    graph = GraphBuilder((1, 2))
    weight = np.full((2, 2), 0.3, np.float32)
    branches = [graph.gemm(graph.input, weight) for _ in range(2)]
    onnx = graph.build(graph.add(*branches))
    draft = Draft(onnx, tip().vnnlib, ())
    assert draft.steps is None
    assert POWER_WEIGHTS.places(draft) == 8
    less = POWER_WEIGHTS.apply(draft, 6, 8)
    assert less is not None
    assert POWER_WEIGHTS.places(less) == 6


def test_bounds_get_shorter() -> None:
    draft = tip().with_intervals({0: (Fraction(-7, 10), Fraction(123, 1000))})
    less = applied(ONE_BIT_BOUNDS, draft)
    box = less.case.box
    assert (box.lower[0], box.upper[0]) == (Fraction(-1, 2), Fraction(1, 8))
    assert cost(Fraction(0)) == 0 < cost(Fraction(1)) < cost(Fraction(123, 1000))
