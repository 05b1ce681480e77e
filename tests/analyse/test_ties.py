"""Ties on sets of positive volume are settled exactly, and violate."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import torch
from counted_questions import asked, at_least, at_most, linear, random_relu, square

from assay.analyse.count.cells import Grid, halving_axes
from assay.analyse.count.counting import Search, count
from assay.analyse.count.exact_cells import ExactCells
from assay.analyse.count.settings import Settings
from assay.question.graph import GraphBuilder, mlp
from assay.question.mlp_layers import mlp_layers
from assay.question.network import Network, load
from assay.question.property import Case, Violation

CLOSE = Settings(gap=1e-9, seconds=20)


def floats(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


def relu_of_shifted(shift: float, *, ends_in_relu: bool) -> Network:
    graph = GraphBuilder((1, 1))
    made = graph.relu(graph.gemm(graph.input, floats(1)[None], floats(-shift)))
    return load(graph.build(made if ends_in_relu else graph.gemm(made, floats(1)[None])), "tie")


@pytest.mark.parametrize("ends_in_relu", [True, False])
def test_a_relu_that_is_zero_on_half_of_the_box(ends_in_relu: bool) -> None:
    network = relu_of_shifted(0.5, ends_in_relu=ends_in_relu)
    found = count(network, asked(square(1, 0, 1), [at_most(0, 0)]), CLOSE)
    assert (found.lower, found.upper) == (Fraction(1, 2), Fraction(1, 2))
    assert found.undecided == found.undecided_share == 0
    rare = count(network, asked(square(1, 0, 1), [at_least(0, "0.5")]), CLOSE)
    assert rare.lower == 0
    assert rare.upper <= 1e-9


def test_a_kink_that_no_halving_meets() -> None:
    network = relu_of_shifted(0.3, ends_in_relu=True)
    rate = Fraction(float(np.float32(0.3)))
    found = count(network, asked(square(1, 0, 1), [at_most(0, 0)]), CLOSE)
    assert found.lower <= rate <= found.upper
    assert found.gap <= 1e-9


def test_two_equal_outputs_tie_everywhere() -> None:
    *hidden, (weight, bias) = mlp_layers(random_relu(3, 3))
    equal = (np.repeat(weight, 2, 0), np.repeat(bias, 2))
    for network in (
        load(mlp([*hidden, equal]), "equal"),
        linear([[0.1, 0.3, 0.7]] * 2, [0.7, 0.7]),
    ):
        found = count(network, Case(square(3), Violation.misclassification(0, 2)), CLOSE)
        assert (found.lower, found.upper, found.undecided) == (1, 1, 0)


def leaky(seed: int, inputs: int, units: int) -> tuple[GraphBuilder, str]:
    draw = np.random.default_rng(seed)
    graph = GraphBuilder((1, inputs))
    weight = draw.normal(size=(units, inputs)).astype(np.float32)
    bias = draw.normal(size=units).astype(np.float32) / 4
    return graph, graph.leaky_relu(graph.gemm(graph.input, weight, bias), 0.125)


def equal_rows(seed: int, units: int) -> np.ndarray:
    row = np.random.default_rng(seed).normal(size=(1, units)).astype(np.float32)
    return np.repeat(row, 2, 0)


TIE = Case(square(2), Violation.misclassification(0, 2))


@pytest.mark.parametrize("shift", [(0.25, 0.25), (0.5, 0.25), (0.25, 0.5)])
@pytest.mark.parametrize("scaled", [False, True])
def test_equal_outputs_of_other_networks_are_decided_at_once(
    shift: tuple[float, float], scaled: bool
) -> None:
    """Whatever is done to each output alone behind the matrix; also where the bias decides."""
    graph, units = leaky(0, 2, 8)
    made = graph.gemm(units, equal_rows(1, 8), floats(*shift))
    if scaled:
        made = graph.sub(floats(1, 1), graph.mul(graph.flatten(made), floats(-2, -2)))
    found = count(load(graph.build(made), "tie"), TIE, CLOSE)
    rate = int(shift[1] >= shift[0])
    assert (found.lower, found.upper, found.boxes, found.undecided) == (rate, rate, 1, 0)


def test_equal_outputs_of_a_wide_mlp_are_decided_at_once() -> None:
    """More units than cells are reduced to."""
    network = random_relu(2, 2, width=300)
    *hidden, (weight, bias) = mlp_layers(network)
    equal = (np.repeat(weight, 2, 0), np.repeat(bias, 2))
    found = count(load(mlp([*hidden, equal]), "wide"), TIE, CLOSE)
    assert (found.lower, found.upper, found.boxes) == (1, 1, 1)


def test_outputs_that_almost_tie_are_not_taken_for_a_tie() -> None:
    weights = equal_rows(1, 8)
    weights[1, 3] = np.nextafter(weights[1, 3], np.float32(9))
    graph, units = leaky(0, 2, 8)
    found = count(load(graph.build(graph.gemm(units, weights)), "near"), TIE, Settings(seconds=0.2))
    assert found.lower < 1
    assert found.upper > 0


def test_one_row_that_cancels_does_not_decide_the_others() -> None:
    """y_0 = y_1, and x_0 <= 0 on half of the box."""
    graph, units = leaky(0, 2, 8)
    both = graph.gemm(
        graph.concat([units, graph.input], 1),
        np.concatenate([np.pad(equal_rows(1, 8), ((0, 0), (0, 2))), floats(*[0] * 8, 1, 0)[None]]),
    )
    network = load(graph.build(both), "mixed")
    equal = Violation.misclassification(0, 2).disjuncts[0]
    half = at_most(2, 0)
    for disjuncts, rate in ((((*equal, half),), Fraction(1, 2)), ((equal, (half,)), Fraction(1))):
        found = count(network, Case(square(2), Violation(3, disjuncts)), Settings(gap=1e-6))
        assert found.lower <= rate <= found.upper
        assert found.gap <= 1e-6


def test_where_nothing_scores_every_side_is_halved() -> None:
    """Outputs that are equal two layers from the end: the open units cancel in every bound."""
    graph, units = leaky(0, 2, 8)
    hidden = graph.gemm(units, equal_rows(1, 8))
    network = load(graph.build(graph.gemm(hidden, np.eye(2, dtype=np.float32))), "deep tie")
    search = Search(network, TIE, Settings(gap=0.4, seconds=20))
    found = search.run()
    assert found.lower >= Fraction(6, 10)
    assert found.boxes < 5_000


def test_sides_of_equal_scores_are_halved_in_turn() -> None:
    grid = Grid.of(square(3))
    size = torch.ones(2, 3, dtype=torch.float64)
    zero, tiny = torch.zeros(3), torch.tensor([1e-30, 3e-30, 1e-30])
    axes = halving_axes(grid, torch.stack([zero, tiny]).double(), size)
    assert sorted(axes[0].tolist()) == [0, 1, 2]
    assert axes[1].tolist()[:2] == [1, 1]  # however small, scores come first


def test_open_cells_do_not_use_up_the_exact_looks() -> None:
    """Twelve kinks in three inputs: only small cells are affine, and every cell may hold a tie."""
    graph, units = leaky(0, 3, 12)
    hidden = graph.gemm(units, equal_rows(1, 12))
    network = load(graph.build(graph.gemm(hidden, np.eye(2, dtype=np.float32))), "many kinks")
    case = Case(square(3), Violation.misclassification(0, 2))
    found = count(network, case, Settings(gap=0.9, seconds=20))
    assert found.gap <= 0.9


def test_an_output_that_is_exactly_zero_is_looked_at() -> None:
    """Sixteen kinks in three inputs: the sum is 0 where all are off, which only small cells are."""
    draw = np.random.default_rng(4)
    weight = draw.normal(size=(16, 3)).astype(np.float32)
    graph = GraphBuilder((1, 3))
    units = graph.relu(graph.gemm(graph.input, weight, np.full(16, -0.5, np.float32)))
    total = graph.reduce_sum(units, [1])
    network = load(graph.build(total), "sum")
    found = count(network, asked(square(3), [at_most(0, 0)]), Settings(gap=0.03, seconds=20))
    assert found.lower > 0
    assert found.gap <= 0.03


def test_ties_of_other_operators() -> None:
    """|x| - x <= 0 on half of [-1, 1]."""
    graph = GraphBuilder((1, 1))
    size, minus = graph.abs(graph.input), graph.gemm(graph.input, floats(-1)[None])
    network = load(graph.build(graph.add(size, minus)), "size")
    found = count(network, asked(square(1), [at_most(0, 0)]), CLOSE)
    assert (found.lower, found.upper) == (Fraction(1, 2), Fraction(1, 2))


def test_a_cell_with_an_open_unit_is_not_settled() -> None:
    network = relu_of_shifted(0.5, ends_in_relu=True)
    case = asked(square(1, 0, 1), [at_most(0, 0)])
    grid = Grid.of(case.box)
    exact = ExactCells(network, case, grid)
    root = Search(network, case, CLOSE)._bounder().root()
    corner, size = root.corner[0], root.size[0]
    assert exact.share(corner, size) == (0, 1)
    assert exact.share(corner, size / 2) == (1, 1)
    assert exact.share(corner + 0.5, size / 2) == (0, 0)
    assert exact.share(corner + 0.25, size / 2) == (0, 1)


def test_a_row_that_is_no_tie_is_exact_too() -> None:
    """x - y <= 1/3 on [0, 1]^2 fails on a triangle of sides 2/3."""
    network = linear([[1, -1]], [0])
    case = asked(square(2, 0, 1), [at_most(0, "1/3")])
    search = Search(network, case, CLOSE)
    root = search._bounder().root()
    low, high = search.exact.share(root.corner[0], root.size[0])
    assert Fraction(low) <= Fraction(7, 9) <= Fraction(high)
    assert high - low < 1e-12
