"""Maps count every instance once, in bins that are the same for all verifiers."""

from __future__ import annotations

import math

import numpy as np
from profiled_points import point, random_points, where

from assay.difficulty.interactions import PAIRS, interaction_maps


def test_all_pairs_the_one_of_the_paper_first() -> None:
    assert len(PAIRS) == len({frozenset(pair) for pair in PAIRS}) == 10
    maps = interaction_maps([point("a")], {"a": "solved"})
    assert [(m.x, m.y) for m in maps] == list(PAIRS)
    assert (maps[0].x, maps[0].y) == ("U", "d_eff")


def test_counts_are_those_of_a_plain_count() -> None:
    points = random_points(np.random.default_rng(3), 60)
    outcomes = where(points, lambda p: p.values["G_IBP"] > 1)
    outcomes |= {points[0].instance: "left out", points[1].instance: "left out"}
    for found in interaction_maps(points, outcomes):
        assert np.array(found.counts).sum() == 58
        for row in range(len(found.y_edges) - 1):
            for column in range(len(found.x_edges) - 1):
                inside = [
                    p.instance
                    for p in points
                    if _inside(p.values[found.x], found.x_edges, column)
                    and _inside(p.values[found.y], found.y_edges, row)
                    and outcomes[p.instance] != "left out"
                ]
                assert found.counts[row][column] == len(inside)
                late = sum(outcomes[name] == "unsolved" for name in inside)
                assert found.unsolved[row][column] == late


def _inside(value: float, edges: tuple[float, ...], number: int) -> bool:
    last = number == len(edges) - 2
    return edges[number] <= value < edges[number + 1] or (last and value == edges[-1])


def test_bins_are_few_and_about_equal() -> None:
    points = random_points(np.random.default_rng(4), 200)
    found = interaction_maps(points, where(points, lambda _: False))[0]
    along_x = np.array(found.counts).sum(axis=0)
    assert along_x.size == 4
    assert along_x.min() > 35
    assert all(float(f"{edge:.2g}") == edge for edge in found.x_edges)


def test_infinite_values_are_in_the_last_bin_which_ends_nowhere() -> None:
    points = [point(f"i{k}", G_IBP=g) for k, g in enumerate([1, 2, 3, 4, math.inf, math.inf])]
    outcomes = where(points, lambda p: math.isinf(p.values["G_IBP"]))
    found = next(m for m in interaction_maps(points, outcomes) if m.x == "G_IBP")
    assert found.x_edges[-1] == math.inf
    assert math.isfinite(found.x_edges[-2])
    assert found.unsolved[0][-1] == 2


def test_a_constant_component_has_one_bin_and_ties_stay_together() -> None:
    points = [point(f"i{k}", A_tau=0.0 if k < 7 else k, U=0.123) for k in range(10)]
    maps = interaction_maps(points, where(points, lambda _: False))
    found = next(m for m in maps if (m.x, m.y) == ("U", "A_tau"))
    assert found.x_edges == (0.12, 0.13)
    assert found.counts[0][0] == 7


def test_values_that_differ_in_late_digits_are_still_told_apart() -> None:
    points = [point(f"i{k}", U=0.99912 if k % 2 else 0.99988) for k in range(8)]
    found = interaction_maps(points, where(points, lambda _: False))[0]
    assert found.counts == ((4, 4),)
