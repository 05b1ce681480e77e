"""MLPs reduced to a cell's open units: the same function there, and bounds that hold."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
import torch
from counted_questions import asked, at_least, at_most, random_relu, square
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from assay.analyse.count.cells import OPEN, Cells, Grid
from assay.analyse.count.chain_bounds import Pieces, row_planes, unit_lines
from assay.analyse.count.chain_planes import ChainBounder
from assay.analyse.count.planes import Bounder
from assay.analyse.count.reduced import reduced
from assay.analyse.count.relu_chain import ReluChain
from assay.question.exact import evaluate
from assay.question.graph import mlp
from assay.question.network import Network, load
from assay.question.property import Case

NUMBERS = 2**18


def dyadic_network(seed: int, sizes: tuple[int, ...]) -> Network:
    """Weights are few eighths, so that float64 computes with them exactly."""
    draw = np.random.default_rng(seed)
    layers = [
        tuple(draw.integers(-12, 13, shape).astype(np.float32) / 8 for shape in ((b, a), (b,)))
        for a, b in pairwise(sizes)
    ]
    return load(mlp(layers), f"dyadic-{seed}")


def chain_of(network: Network, case: Case) -> tuple[ReluChain, ChainBounder]:
    grid = Grid.of(case.box)
    chain = ReluChain.of(network, grid, case.violation)
    assert chain is not None
    return chain, ChainBounder(chain, grid, case.violation, NUMBERS)


def deep_cells(bounder: ChainBounder, rounds: int, least: int = 0) -> Cells:
    cells = bounder.root()
    for _ in range(rounds):
        wide = (cells.axes[:, 0] >= 0).nonzero().flatten()
        if len(wide) <= least:
            break
        cells = bounder.children(cells.at(wide[:16]), 2)
    return cells


@given(st.integers(0, 10**6), st.sampled_from([(2, 5, 1), (2, 6, 5, 1), (3, 5, 5, 5, 2)]))
@hypothesis_settings(max_examples=25, deadline=None)
def test_the_reduced_network_is_the_network_on_the_cell(seed: int, sizes: tuple[int, ...]) -> None:
    """Exactly: at points of the cell, with the open units computed by the reduced network."""
    network = dyadic_network(seed, sizes)
    inequalities = [at_most(k, "0.25") for k in range(sizes[-1])]
    case = asked(square(sizes[0], -1, 1), inequalities, outputs=sizes[-1])
    chain, bounder = chain_of(network, case)
    cells = deep_cells(bounder, 3)
    networks = reduced(chain, cells.phases(sum(chain.units)))
    draw = np.random.default_rng(seed)
    for number in range(0, len(cells), max(1, len(cells) // 4)):
        place = torch.from_numpy(draw.integers(0, 5, sizes[0]) / 4)
        s = cells.corner[number] + cells.size[number] * place
        known = torch.cat([torch.ones(1, dtype=s.dtype), s])
        for layer in networks.layers:
            known = torch.cat([known, (known @ layer[number]).clamp(min=0)])
        excesses = (known @ networks.rows[number]).tolist()
        outputs = evaluate(network, [Fraction(2 * v - 1) for v in s.tolist()])
        for k, inequality in enumerate(inequalities):
            assert Fraction(excesses[k]) == inequality.excess(outputs)


@given(st.integers(0, 10**6), st.sampled_from([(2, 8, 1), (3, 8, 8, 1), (2, 6, 6, 6, 1)]))
@hypothesis_settings(max_examples=25, deadline=None)
def test_planes_lie_on_either_side_of_the_excess(seed: int, sizes: tuple[int, ...]) -> None:
    draw = np.random.default_rng(seed)
    layers = [
        (draw.normal(size=(b, a)).astype(np.float32), draw.normal(size=b).astype(np.float32))
        for a, b in pairwise(sizes)
    ]
    network = load(mlp(layers), f"random-{seed}")
    case = asked(square(sizes[0], "-0.3", "0.9"), [at_most(0, "0.1")])
    chain, bounder = chain_of(network, case)
    cells = deep_cells(bounder, 2)
    networks, half = reduced(chain, cells.phases(sum(chain.units))), 0.5 * cells.size.unsqueeze(1)
    pieces = Pieces(cells.corner.unsqueeze(1) + half, half)
    rows = row_planes(networks, unit_lines(chain, networks, pieces), pieces)
    slack = chain.row_slack(torch.ones(len(cells), chain.units[-1]))
    (inequality,) = case.violation.disjuncts[0]
    for number in range(0, len(cells), max(1, len(cells) // 6)):
        t = torch.from_numpy(draw.choice([-1.0, -0.5, 0.25, 1.0], sizes[0]))
        s = cells.corner[number] + cells.size[number] * (t + 1) / 2
        point = [Fraction("-0.3") + Fraction("1.2") * Fraction(v) for v in s.tolist()]
        excess = inequality.excess(evaluate(network, point))
        low = float(rows.lower[number, 0, 0] @ t + rows.lower_offset[number, 0, 0])
        high = float(rows.upper[number, 0, 0] @ t + rows.upper_offset[number, 0, 0])
        room = Fraction(float(slack[number, 0]) + 1e-14)
        assert Fraction(low) - room <= excess <= Fraction(high) + room


def test_phases_only_narrow_and_cost_falls() -> None:
    network = dyadic_network(4, (3, 16, 16, 1))
    _, bounder = chain_of(network, asked(square(3), [at_most(0, 0)]))
    root = bounder.root()
    children = bounder.children(root, 3)
    assert len(children) == 8
    before, after = (cells.phases(32) for cells in (root, children))
    stable = before[0] != OPEN
    assert bool((after[:, stable] == before[0][stable]).all())
    assert bool((children.load == (after == OPEN).sum(1)).all())
    deep = deep_cells(bounder, 5)
    assert float(deep.load.double().mean()) < 0.5 * float(root.load.double().mean())


def test_it_agrees_with_the_bounds_of_any_network() -> None:
    """One cell, both ways: reduction changes the cost, not the bounds."""
    network = random_relu(9, 2, outputs=2)
    case = asked(square(2), [at_most(0, 0), at_least(1, 0)], [at_least(0, "0.2")], outputs=2)
    _, bounder = chain_of(network, case)
    other = Bounder(network, Grid.of(case.box), case.violation, NUMBERS, math.inf)
    cells = deep_cells(bounder, 2)
    again = other._cells(cells.corner, cells.size)
    whole = cells.quanta.double()
    for one, two in ((cells.low, again.low), (cells.high, again.high)):
        assert float(((one - two).abs().double() / whole).max()) < 1e-9


@pytest.mark.parametrize("scale", [1e30, 1e38])
def test_numbers_that_leave_float64_are_left_to_other_bounds(scale: float) -> None:
    big = np.full((4, 4), scale, np.float32)
    layers = [(np.full((4, 2), scale, np.float32), np.zeros(4, np.float32))]
    layers += [(big, np.zeros(4, np.float32))] * 9 + [(big[:1], np.zeros(1, np.float32))]
    case = asked(square(2), [at_most(0, 0)])
    assert ReluChain.of(load(mlp(layers), "big"), Grid.of(case.box), case.violation) is None
