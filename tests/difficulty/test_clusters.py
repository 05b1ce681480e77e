"""Shuffles keep families and networks together, and are permutations where sizes are equal."""

from __future__ import annotations

import numpy as np
from profiled_points import point

from assay.difficulty.clusters import Clusters


def clusters(families: list[int], networks: list[int] | None = None) -> Clusters:
    own = np.arange(len(families)) if networks is None else np.array(networks)
    return Clusters(np.array(families), own)


def shuffled(found: Clusters, late: list[int], rows: int = 2000) -> np.ndarray:
    rng = np.random.default_rng(1)
    return np.concatenate(list(found.shuffles(np.array(late, bool), rows, rng)))


def test_an_instance_without_a_network_has_its_own() -> None:
    points = [point("a"), point("b"), point("c", family="g")]
    found = Clusters.of(points)
    assert (found.families.tolist(), found.networks.tolist()) == ([0, 0, 1], [0, 1, 2])
    assert (found.count, found.many, found.matter) == (2, "networks", True)
    named = [point(name, family=name, answer="robust") for name in "ab"]
    assert Clusters.of(named).many == "families"
    assert not Clusters.of(named).matter


def test_the_largest_clusters_of_which_there_are_several_count() -> None:
    assert clusters([0, 0, 1]).independent.tolist() == [0, 0, 1]
    assert clusters([0, 0, 0], [0, 0, 1]).independent.tolist() == [0, 0, 1]
    assert clusters([0, 0, 0], [0, 0, 0]).independent.tolist() == [0, 1, 2]


def test_equal_families_trade_their_outcomes_whole() -> None:
    rows = shuffled(clusters([0, 1, 2, 0, 1, 2]), [1, 0, 0, 1, 0, 0])
    assert {tuple(row) for row in rows.astype(int).tolist()} == {
        (1, 0, 0, 1, 0, 0),
        (0, 1, 0, 0, 1, 0),
        (0, 0, 1, 0, 0, 1),
    }
    assert np.allclose(rows.mean(axis=0), 1 / 3, atol=0.05)


def test_twins_stay_together_inside_their_family() -> None:
    rows = shuffled(clusters([0] * 6, [0, 0, 1, 1, 2, 2]), [1, 1, 0, 0, 1, 0])
    pairs = rows.reshape(-1, 3, 2).sum(axis=2)
    assert (np.sort(pairs, axis=1) == [0, 1, 2]).all()
    assert len(np.unique(rows, axis=0)) == 6 * 2


def test_single_cases_are_shuffled_freely() -> None:
    rows = shuffled(clusters([0, 0, 0, 0]), [1, 1, 0, 0])
    assert (rows.sum(axis=1) == 2).all()
    assert len(np.unique(rows, axis=0)) == 6
    apart = clusters([0, 1, 2, 3])
    assert len(np.unique(shuffled(apart, [1, 1, 0, 0]), axis=0)) == 6
    assert len(np.unique(shuffled(clusters([0, 0, 1, 1]).free, [1, 1, 0, 0]), axis=0)) == 6


def test_only_similar_sizes_trade_and_larger_ones_repeat() -> None:
    rows = shuffled(clusters([0] * 5 + [1, 1]), [1, 1, 0, 0, 0, 0, 0])
    assert (rows[:, :5].sum(axis=1) == 2).all()
    assert not rows[:, 5:].any()
    rows = shuffled(clusters([0] * 3 + [1, 1]), [0, 0, 0, 1, 1])
    assert {tuple(row) for row in rows.astype(int).tolist()} == {(0, 0, 0, 1, 1), (1, 1, 1, 0, 0)}


def test_shuffles_among_some_leave_the_others_their_outcomes() -> None:
    found = clusters([0] * 6)
    among = np.array([1, 1, 1, 0, 0, 0], bool)
    late = np.array([1, 0, 0, 1, 1, 0], bool)
    rows = np.concatenate(list(found.shuffles(late, 500, np.random.default_rng(0), among=among)))
    assert (rows[:, :3].sum(axis=1) == 1).all()
    assert (rows[:, 3:].sum(axis=1) == 2).all()
    assert len(np.unique(rows, axis=0)) == 9
