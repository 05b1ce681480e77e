"""The search finds minima that are known exactly, and never goes below a proved margin."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import specimens
import torch
from small_questions import affine, asked, box, positive

from assay.difficulty.looseness import Looseness
from assay.difficulty.margin import MarginFunction
from assay.difficulty.sampling import Sampler
from assay.difficulty.search import STAGES, Samples, Searched, searched
from assay.question import vnnlib
from assay.question.graph import GraphBuilder
from assay.question.network import Network, load
from assay.question.property import Specification
from assay.question.region import Box


def found_in(network: Network, specification: Specification, samples: int = 300) -> Searched:
    function = MarginFunction(network, specification.cases)
    sampler = Sampler(function, 0)
    points, cases = sampler.points(samples)
    margins, gradients = function.with_gradients(points, cases)
    slopes = Looseness(network, function.cases).linear().slopes
    drawn = Samples(points, cases, margins, gradients)
    found = searched(function, drawn, slopes, sampler.stream(0, "search"))
    case = found.lowest.case
    assert found.lowest.stage in STAGES
    assert found.lowest.margin <= float(margins.min())
    inside = (found.lowest.point >= function.lower[case]) & (
        found.lowest.point <= function.upper[case]
    )
    assert bool(inside.all())
    again = function.values(found.lowest.point.unsqueeze(0), torch.tensor([case]))
    assert float(again) == pytest.approx(found.lowest.margin, rel=1e-6, abs=1e-12)
    return found


@pytest.mark.parametrize("setting", ["radius-2x10", "radius-3x8", "radius-trained"])
def test_exact_radius_minima_are_reached(setting: str) -> None:
    """At 0.99999 of the radius the proved margin is tight, and far below what samples see."""
    for made in specimens.made(setting):
        network = load(made.onnx, made.name)
        found = found_in(network, vnnlib.read(made.vnnlib.decode(), made.name))
        certified = float(made.truth.margin)
        if made.truth.answer == "violated":
            assert found.lowest.margin <= 0, made.name
        else:
            assert found.lowest.margin >= certified * (1 - 1e-9)
        if made.name == "f0.99999-robust":
            assert found.lowest.margin == pytest.approx(certified, rel=1e-3)


@pytest.mark.parametrize("setting", ["meap-unstable", "corners-plain", "box-gates"])
def test_proved_margins_are_not_undercut(setting: str) -> None:
    for made in specimens.made(setting):
        network = load(made.onnx, made.name)
        found = found_in(network, vnnlib.read(made.vnnlib.decode(), made.name))
        if made.truth.answer == "robust":
            assert found.lowest.margin >= float(made.truth.margin) * (1 - 1e-6)


def test_a_kink_between_steep_sides() -> None:
    """|x| + 3 |y - x| + 1e-6: a narrow valley whose floor only the kink reaches."""
    graph = GraphBuilder((1, 2))
    lines = graph.gemm(graph.input, np.array([[1, 0], [-3, 3]], np.float32))
    output = graph.gemm(graph.abs(lines), np.ones((1, 2), np.float32), np.float32([1e-6]))
    network = load(graph.build(output), "valley")
    found = found_in(network, asked((box(2, -0.7, 1.1), positive())))
    assert found.lowest.margin == pytest.approx(1e-6, abs=1e-9)
    assert found.lowest.stage == "polish"


def test_many_boxes_are_searched_where_samples_are_low() -> None:
    network = affine([[1]], [0])
    cases = [(box(1, k, k + 1), positive()) for k in range(40, 0, -1)]
    found = found_in(network, asked(*cases), samples=200)
    assert found.lowest.margin == 1.0
    assert found.lowest.case == 39


def test_the_largest_gradient_of_the_search_counts() -> None:
    """The slope is 1 but for a spike near one corner that few samples hit."""
    graph = GraphBuilder((1, 2))
    spike = graph.relu(graph.gemm(graph.input, np.array([[-64, -64]], np.float32), [-127.0]))
    slope = graph.gemm(graph.input, np.array([[1, 1]], np.float32), [4.0])
    network = load(graph.build(graph.sub(slope, spike)), "spike")
    found = found_in(network, asked((box(2), positive())), samples=10)
    assert found.steepest == pytest.approx(2 + 2 * 64 - 0, rel=0.02)


def valley(sharpness: float) -> Network:
    """10 + relu(x21) - sharpness relu(x1 + .. + x20 - 17): low only near one corner."""
    rows = np.zeros((2, 22), np.float32)
    rows[0, 1:21], rows[1, 21] = 1, 1
    graph = GraphBuilder((1, 22))
    hidden = graph.relu(graph.gemm(graph.input, rows, np.array([-17, 0], np.float32)))
    weights = np.array([[-sharpness, 1]], np.float32)
    return load(graph.build(graph.gemm(hidden, weights, np.float32([10]))), "valley")


def test_a_box_whose_samples_look_harmless_is_found_all_the_same() -> None:
    """The tenth of ten boxes alone reaches the valley, and its samples are the highest."""
    cases = []
    for k in range(10):
        top = [Fraction(1)] + [Fraction(1 if k == 9 else 0.5)] * 20 + [Fraction(2 * k + 0.5)]
        cases.append((Box((Fraction(0),) * 21 + (Fraction(2 * k),), tuple(top)), positive()))
    found = found_in(valley(20), asked(*cases), samples=1000)
    assert found.lowest.margin == pytest.approx(10 + 18 - 60)
    assert found.lowest.case == 9


def test_what_overflows_is_not_taken_for_a_margin() -> None:
    """-exp(40 sum x) has no float64 value at the far corner; the search must not go there."""
    graph = GraphBuilder((1, 20))
    total = graph.gemm(graph.input, np.full((1, 20), 40, np.float32))
    network = load(graph.build(graph.neg(graph.exp(total))), "steep")
    found = found_in(network, asked((box(20, 0, 1), positive())))
    assert np.isfinite(found.lowest.margin)
    assert np.isfinite(found.steepest)


def test_an_infinite_slope_at_a_corner() -> None:
    graph = GraphBuilder((1, 20))
    root = graph.sqrt(graph.reduce_sum(graph.input, [1]))
    network = load(graph.build(graph.add(root, np.float32([[1]]))), "root")
    found = found_in(network, asked((box(20, 0, 1), positive())))
    assert found.lowest.margin == 1.0
    assert np.isfinite(found.steepest)
