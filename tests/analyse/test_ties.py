"""Ties on sets of positive volume are settled exactly, and violate."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from counted_questions import asked, at_least, at_most, linear, random_relu, square

from assay.analyse.count.cells import Grid
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
