"""Profiles of questions whose five numbers can be computed by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_questions import affine, asked, box, meap_pair, positive, profiled

from assay.difficulty.profile import Profile, profile
from assay.difficulty.settings import Settings
from assay.errors import BadInput
from assay.question.graph import GraphBuilder
from assay.question.network import load
from assay.question.property import Inequality, Violation
from assay.question.region import Box

WEIGHTS = st.lists(st.integers(-(2**10), 2**10), min_size=1, max_size=30).filter(any)


@given(WEIGHTS, st.sampled_from([2.0**-30, 1.0, 2.0**20]))
@settings(deadline=None, max_examples=40)
def test_affine_network(weights: list[int], scale: float) -> None:
    a = [w * scale for w in weights]
    total = sum(abs(w) for w in a)
    network = affine([a], [2 * total])
    found = profiled(network, asked((box(len(a)), positive())), samples=200)
    assert found.regions.value == 0.0
    assert found.dimension.value == pytest.approx(total**2 / sum(w * w for w in a), rel=1e-4)
    assert found.dimension.low == pytest.approx(found.dimension.high, rel=1e-9)
    assert found.interval.units == found.interval.unstable == 0
    assert found.interval.unstable_fraction == 0.0
    assert found.steepest == pytest.approx(total)
    assert found.lowest == pytest.approx(total)
    assert found.minimum >= found.lowest
    assert found.interval.floor == pytest.approx(total)
    assert found.linear_floor == pytest.approx(total)
    assert found.interval_gap == pytest.approx((found.minimum - total) / found.minimum, abs=1e-5)
    assert found.searched_gap == pytest.approx(0, abs=1e-9 + 1e-12 / total)


def test_constant_network_divides_by_nothing() -> None:
    network = affine([[0, 0, 0]], [0.25])
    found = profiled(network, asked((box(3), positive())))
    assert found.minimum == found.lowest == 0.25
    assert found.interval_gap == pytest.approx(0, abs=1e-12)
    assert (found.steepest, found.regions.value, found.dimension.value) == (0, 0, 0)
    assert found.regions.unseen < 0.01
    zero = profiled(affine([[0, 0]], [0]), asked((box(2), positive())))
    assert (zero.minimum, zero.interval_gap, zero.linear_gap) == pytest.approx((0, 0, 0))


def test_a_single_hinge() -> None:
    graph = GraphBuilder((1, 1))
    hinge = graph.relu(graph.gemm(graph.input, np.array([[3]], np.float32)))
    network = load(graph.build(graph.gemm(hinge, np.ones((1, 1), np.float32), [1.0])), "hinge")
    found = profiled(network, asked((box(1), positive())))
    assert found.interval.unstable == found.interval.units == 1
    assert found.regions.value == math.log(2)
    assert found.minimum == found.lowest == 1.0
    assert found.interval.floor == pytest.approx(1)
    assert found.interval_gap == pytest.approx(0, abs=1e-12)
    # Half of the box has the slope 3 along one input, the other half none.
    assert found.dimension.low <= 0.5 <= found.dimension.high
    assert found.steepest == 3.0
    touching = profiled(network, asked((box(1, 0, 1), positive())))
    assert touching.interval.unstable_fraction == 0
    stable = profiled(network, asked((box(1, 0.25, 1), positive())))
    assert (stable.interval.unstable_fraction, stable.regions.value) == (0, 0)
    assert stable.dimension.value == pytest.approx(1)


def test_a_quadratic() -> None:
    graph = GraphBuilder((1, 1))
    square = graph.mul(graph.input, graph.input)
    network = load(graph.build(graph.add(square, np.float32([[0.5]]))), "quadratic")
    found = profiled(network, asked((box(1), positive())), tau=0.5)
    # Slopes 2 x over 2: the grid of width one half has the five cells -1, -1/2, 0, 1/2, 1.
    assert found.regions.distinct == 5
    assert found.steepest == pytest.approx(2)
    assert found.interval.unstable_fraction == 1.0
    assert found.lowest == pytest.approx(0.5, abs=1e-9)
    assert found.interval.floor == pytest.approx(0.5)
    assert found.dimension.value == pytest.approx(1, rel=1e-6)
    narrow = Box((Fraction(1),), (Fraction(1) + Fraction(1, 512),))
    # The slope varies by 2/512 there, which is below tau.
    assert profiled(network, asked((narrow, positive()))).interval.unstable_fraction == 0.0


def test_a_meap_pair() -> None:
    found = profiled(meap_pair(), asked((box(1), positive())))
    assert found.interval.unstable == found.interval.units == 2
    assert found.regions.distinct == 3
    assert found.minimum == pytest.approx(1)
    assert found.lowest == pytest.approx(1)
    assert found.interval.floor == pytest.approx(0, abs=1e-12)
    assert found.interval_gap == pytest.approx(1)
    # The flat middle is a quarter of the box, so 1/4 of one half and 1/8 of the other.
    assert found.dimension.low < 0.8125 < found.dimension.high


def test_two_regions_of_two_competitors() -> None:
    """The margin over both is min(1 + x, 1 + 2 y): two regions, one input each."""
    network = affine([[1, 0], [0, 2]], [2, 2.5])
    found = profiled(network, asked((box(2), positive(2))))
    assert found.regions.value == math.log(2)
    assert found.dimension.value == pytest.approx(1)
    assert found.lowest == pytest.approx(0.5)
    assert found.steepest == 2.0
    assert found.interval.floor == pytest.approx(0.5)


def test_a_conjunction_takes_its_largest_excess() -> None:
    """x + y <= -1 and x - y <= -1 together: the margin is 1 + x + |y|, least at (-1, 0)."""
    network = affine([[1, 0], [0, 1]], [0, 0])
    both = (
        Inequality(((0, Fraction(1)), (1, Fraction(1))), Fraction(-1)),
        Inequality(((0, Fraction(1)), (1, Fraction(-1))), Fraction(-1)),
    )
    found = profiled(network, asked((box(2, -0.5, 0.5), Violation(2, (both,)))))
    assert found.lowest == pytest.approx(0.5)
    assert found.steepest == pytest.approx(2)
    # Intervals bound each inequality alone.
    assert found.interval.floor == pytest.approx(0)


def test_a_sigmoid_counts_as_nonlinear_by_its_slope() -> None:
    graph = GraphBuilder((1, 1))
    network = load(graph.build(graph.sigmoid(graph.input)), "sigmoid")
    wide = profiled(network, asked((box(1, -2, 2), positive())))
    assert wide.interval.unstable_fraction == 1.0
    assert wide.lowest == pytest.approx(1 / (1 + math.exp(2)))
    far = profiled(network, asked((box(1, 10, 11), positive())))
    assert far.interval.unstable_fraction == 0.0
    assert profiled(network, asked((box(1, -2, 2), positive())), tau=0.5).interval.unstable == 0


def test_several_boxes_with_properties_of_their_own() -> None:
    network = affine([[1], [-1]], [0, 0])
    first = Violation(2, ((Inequality(((0, Fraction(1)),), Fraction(0)),),))
    second = Violation(2, ((Inequality(((1, Fraction(3)),), Fraction(-30)),),))
    found = profiled(network, asked((box(1, 1, 2), first), (box(1, 3, 4), second)))
    assert found.lowest == pytest.approx(1)
    assert found.steepest == pytest.approx(3)
    assert found.regions.distinct == 2
    assert found.interval.floor == pytest.approx(1)


def test_fixed_inputs_do_not_count() -> None:
    network = affine([[1, 5, 1]], [10])
    fixed = Box(
        (Fraction(0), Fraction(1, 10), Fraction(0)), (Fraction(1), Fraction(1, 10), Fraction(1))
    )
    found = profiled(network, asked((fixed, positive())))
    assert found.inputs == 2
    assert found.steepest == 2.0
    assert found.dimension.value == pytest.approx(2)


def test_inputs_fixed_in_their_own_box_do_not_count_either() -> None:
    network = affine([[1] * 6], [0])
    cases = []
    for free in range(6):
        low = [Fraction(1)] * 6
        low[free] = Fraction(0)
        cases.append((Box(tuple(low), (Fraction(1),) * 6), positive()))
    found = profiled(network, asked(*cases))
    assert found.dimension.value == pytest.approx(1)
    assert found.steepest == 1.0
    assert found.inputs == 6
    assert "4 of 6 boxes" in found.note


def test_a_grid_too_coarse_for_many_inputs_is_noted() -> None:
    network = affine([[1] * 250, [1, -1] * 125], [300, 300])
    found = profiled(network, asked((box(250), positive(2))))
    assert found.regions.distinct == 1
    assert found.coarse
    assert "tau is too coarse" in found.note
    fine = profiled(network, asked((box(250), positive(2))), tau=0.001)
    assert (fine.regions.distinct, fine.coarse, fine.note) == (2, False, "")


def test_linear_bounds_never_give_up_what_intervals_know() -> None:
    rng = np.random.default_rng(7)
    for _ in range(20):
        graph = GraphBuilder((1, 4))
        hidden = graph.relu(graph.gemm(graph.input, rng.normal(size=(6, 4)).astype(np.float32)))
        output = graph.gemm(hidden, rng.normal(size=(2, 6)).astype(np.float32))
        network = load(graph.build(output), "random")
        found = profiled(network, asked((box(4), positive(2))), samples=20)
        assert found.interval.floor <= found.linear_floor <= found.lowest


def test_a_divisor_that_may_vanish_gives_an_infinite_gap() -> None:
    graph = GraphBuilder((1, 1))
    shifted = graph.add(graph.input, np.array([[2]], np.float32))
    network = load(graph.build(graph.div(np.array([[1]], np.float32), shifted)), "hyperbola")
    assert profiled(network, asked((box(1), positive()))).interval_gap < math.inf
    found = profiled(network, asked((box(1, -2.25, 0), positive())))
    assert (found.interval.floor, found.interval_gap) == (-math.inf, math.inf)
    assert found.interval.unstable_fraction == 1.0


def test_a_box_of_one_point_is_refused() -> None:
    network = affine([[1, 2]], [0])
    with pytest.raises(BadInput, match="single point"):
        profiled(network, asked((box(2, 1, 1), positive())))


def test_a_box_that_float64_cannot_resolve_is_refused() -> None:
    thin = Box((Fraction(1),), (1 + Fraction(1, 10**30),))
    with pytest.raises(BadInput, match="float64 cannot tell the ends"):
        profiled(affine([[1]], [0]), asked((thin, positive())))


def test_undefined_margins_are_refused() -> None:
    graph = GraphBuilder((1, 1))
    network = load(graph.build(graph.sqrt(graph.input)), "root")
    with pytest.raises(BadInput, match="of 400 sampled inputs have no finite margin"):
        profiled(network, asked((box(1), positive())))


def test_the_same_seed_gives_the_same_numbers_and_another_does_not() -> None:
    specification = asked((box(1), positive()))

    def taken(seed: int) -> Profile:
        found = profile(meap_pair(), specification, Settings(300, seed=seed))
        return replace(found, seconds=0, search_seconds=0, linear_seconds=0)

    assert taken(3) == taken(3)
    assert taken(3).dimension != taken(4).dimension


def test_a_saturated_count_takes_more_samples() -> None:
    graph = GraphBuilder((1, 12))
    network = load(graph.build(graph.reduce_sum(graph.mul(graph.input, graph.input), [1])), "bowl")
    found = profiled(network, asked((box(12), positive())), samples=100, tau=1e-3)
    assert (found.samples, found.regions.samples) == (100, 400)
    assert found.regions.saturated
    assert found.regions.value == math.log(found.regions.distinct)
    coarse = profiled(meap_pair(), asked((box(1), positive())), samples=100)
    assert (coarse.regions.samples, coarse.regions.saturated) == (100, False)


@pytest.mark.parametrize(
    ("knobs", "word"),
    [
        ({"samples": 1}, "samples"),
        ({"tau": 0.0}, "tau"),
        ({"tau": 1.0}, "tau"),
        ({"device": "tpu"}, "device"),
    ],
)
def test_settings_that_make_no_sense(knobs: dict[str, float | str], word: str) -> None:
    with pytest.raises(BadInput, match=f"--{word}"):
        Settings(**knobs)  # type: ignore[arg-type]
