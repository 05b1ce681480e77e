"""Points are uniform on their region, and the same however they are taken.

Laws are compared by Kolmogorov-Smirnov and chi-square tests with fixed seeds; each of the tests
here would fail with probability ACCEPTED under another seed if the law is right.
"""

from __future__ import annotations

import itertools
import math
from concurrent.futures import ThreadPoolExecutor
from typing import get_args

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from assay.analyse import sampling
from assay.analyse.randomness import ProcessorSource
from assay.analyse.regions import Ball, BoxRegion, Norm, Region
from assay.analyse.sampling import Sampler
from assay.errors import BadInput

ACCEPTED = 1e-4
NORMS = get_args(Norm)
DIMENSIONS = (1, 2, 7, 100)
COUNT = 20_000


def points(region: Region, count: int = COUNT, seed: int = 0) -> np.ndarray:
    return Sampler(region, seed, dtype=torch.float64).take(count).numpy()


def distances(offsets: np.ndarray, norm: Norm) -> np.ndarray:
    return np.asarray(np.linalg.norm(offsets, ord=float(norm), axis=1))


def ball(norm: Norm, dimension: int) -> Ball:
    return Ball(np.linspace(-1, 2, dimension), 0.7, norm)


@pytest.mark.parametrize("dimension", DIMENSIONS)
@pytest.mark.parametrize("norm", NORMS)
def test_the_share_within_t_of_the_centre_is_t_to_the_dimension(norm: Norm, dimension: int) -> None:
    region = ball(norm, dimension)
    far = distances(points(region) - region.centre, norm) / region.radius
    assert far.max() <= 1 + 1e-12
    assert stats.kstest(far**dimension, "uniform").pvalue > ACCEPTED


def marginal(norm: Norm, dimension: int) -> stats.rv_continuous:
    """The law of |x_1| in the unit ball: the share beyond it is cut off as a smaller ball."""
    if norm == "inf":
        return stats.uniform()
    if norm == "1":
        return stats.beta(1, dimension)
    return stats.beta(0.5, (dimension + 1) / 2)


@pytest.mark.parametrize("dimension", DIMENSIONS)
@pytest.mark.parametrize("norm", NORMS)
def test_every_coordinate_has_its_marginal_law(norm: Norm, dimension: int) -> None:
    region = ball(norm, dimension)
    offsets = (points(region) - region.centre) / region.radius
    power = 2 if norm == "2" else 1
    for i in {0, dimension - 1}:
        size = abs(offsets[:, i]) ** power
        assert stats.kstest(size, marginal(norm, dimension).cdf).pvalue > ACCEPTED
        above = int((offsets[:, i] > 0).sum())
        assert stats.binomtest(above, COUNT, 0.5).pvalue > ACCEPTED


@pytest.mark.parametrize("norm", NORMS)
def test_orthants_are_equally_likely(norm: Norm) -> None:
    region = ball(norm, 3)
    signs = (points(region) > region.centre) @ np.array([1, 2, 4])
    assert stats.chisquare(np.bincount(signs, minlength=8)).pvalue > ACCEPTED


@pytest.mark.parametrize("dimension", [3, 200])
@pytest.mark.parametrize("norm", NORMS)
def test_single_precision_has_the_same_law(norm: Norm, dimension: int) -> None:
    region = Ball(np.zeros(dimension), 1, norm)
    found = Sampler(region, 0).take(COUNT)
    assert found.dtype == torch.float32
    far = distances(found.double().numpy(), norm)
    assert stats.kstest(far**dimension, "uniform").pvalue > ACCEPTED


def brute_force(region: Ball, count: int) -> np.ndarray:
    """Uniform on ball and range by rejection from the box around both."""
    assert region.valid is not None
    draw = np.random.default_rng(7)
    low, high = region.box.lower, region.box.upper
    tried = draw.uniform(low, high, (60 * count, region.dimension))
    kept = tried[distances(tried - region.centre, region.norm) <= region.radius]
    assert len(kept) >= count
    return kept[:count]


@pytest.mark.parametrize(
    "centre", [(0.3, 0.6, 0.9), (0.0, 0.5, 1.0), (0.0, 0.0, 1.0), (0.0, 0.05, 1.0)]
)
@pytest.mark.parametrize("norm", NORMS)
def test_the_intersection_with_a_range_is_uniform(norm: Norm, centre: tuple[float, ...]) -> None:
    """Whether faces fold or not: coordinates, distances and directions are as by rejection."""
    region = Ball(np.array(centre), 0.7, norm, (0, 1))
    found, expected = points(region), brute_force(region, COUNT)
    assert found.min() >= 0
    assert found.max() <= 1
    features = [*np.eye(3), np.array([1, -2, 1]), np.array([1, 1, -1])]
    for feature in features:
        assert stats.ks_2samp(found @ feature, expected @ feature).pvalue > ACCEPTED
    far = [distances(part - region.centre, norm) for part in (found, expected)]
    assert far[0].max() <= region.radius + 1e-12
    assert stats.ks_2samp(*far).pvalue > ACCEPTED


def test_a_centre_just_outside_of_the_range_counts_as_on_its_end() -> None:
    region = Ball(np.full(50, -1e-9), 0.5, "2", (0, 1))
    assert float(points(region, 100).min()) >= 0


def grid_points(region: Ball) -> list[tuple[int, ...]]:
    """The levels of all valid grid points in the ball."""
    assert region.valid is not None
    assert region.levels is not None
    found = []
    for levels in itertools.product(range(region.levels), repeat=region.dimension):
        point = region.valid[0] + np.array(levels) * region.step
        far = distances((point - region.centre)[None], region.norm)[0]
        if far <= region.radius + 1e-9:
            found.append(levels)
    return found


@pytest.mark.parametrize(
    ("centre", "radius", "levels"),
    [
        ((0.5, 0.5), 0.25, 9),
        ((0.0, 1.0, 0.5), 0.5, 5),
        ((0.3, 0.64), 0.4, 8),
        ((0.0, 0.0, 0.25, 1.0), 0.5, 5),
        ((0.2,), 0.41, 11),
    ],
)
@pytest.mark.parametrize("norm", NORMS)
def test_grid_points_are_equally_likely(
    norm: Norm, centre: tuple[float, ...], radius: float, levels: int
) -> None:
    region = Ball(np.array(centre), radius, norm, (0, 1), levels)
    expected = grid_points(region)
    found = np.rint(points(region) / region.step).astype(int)
    counts = dict.fromkeys(expected, 0)
    for row in map(tuple, found.tolist()):
        counts[row] += 1
    assert stats.chisquare(list(counts.values())).pvalue > ACCEPTED


@pytest.mark.parametrize("norm", NORMS)
def test_grid_points_are_equally_likely_in_single_precision(
    norm: Norm, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Points on the very surface of the ball count, though 1 / 255 is no binary fraction."""
    levels = np.array([77, 130, 200])
    centre = (levels / 255).astype(np.float32).astype(np.float64)
    region = Ball(centre, 3 / 255, norm, (0, 1), 256)
    monkeypatch.setattr(sampling, "FEW_NUMBERS", 0)
    drawn = Sampler(region, 0).take(COUNT).numpy()
    found = np.rint(drawn * 255).astype(int) - levels
    cube = np.array(list(itertools.product(range(-3, 4), repeat=3)))
    expected = cube[distances(cube, norm) <= 3 + 1e-9]
    counts = np.array([(found == point).all(1).sum() for point in expected])
    assert counts.sum() == len(found)
    assert stats.chisquare(counts).pvalue > ACCEPTED


@settings(max_examples=30, deadline=None)
@given(
    st.sampled_from(NORMS),
    st.sampled_from([None, (0.0, 1.0)]),
    st.lists(st.integers(0, 700_000), min_size=1, max_size=4),
)
def test_how_points_are_taken_does_not_matter(
    norm: Norm, valid: tuple[float, float] | None, cuts: list[int]
) -> None:
    region = Ball(np.array([0.0, 0.8]), 0.5, norm, valid)
    whole = Sampler(region, 3).take(sum(cuts))
    sampler = Sampler(region, 3)
    assert torch.equal(torch.cat([sampler.take(cut) for cut in cuts]), whole)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("threads", [1, 5])
def test_the_number_of_threads_does_not_matter(
    norm: Norm, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    region = Ball(np.full(100, 0.5), 0.2, norm)
    expected = Sampler(region, 0).take(40_000)
    with ThreadPoolExecutor(threads) as pool:
        monkeypatch.setattr(sampling, "_threads", lambda: pool)
        assert torch.equal(Sampler(region, 0).take(40_000), expected)


def test_streams_differ_by_seed_purpose_and_region() -> None:
    centre = np.zeros(4)
    samplers = [
        Sampler(Ball(centre, 1, "2"), 0),
        Sampler(Ball(centre, 1, "2"), 1),
        Sampler(Ball(centre, 1, "2"), 0, purpose="check"),
        Sampler(Ball(centre, 2, "2"), 0),
        Sampler(Ball(centre, 1, "1"), 0),
        Sampler(Ball(centre + 1e-9, 1, "2"), 0),
        Sampler(BoxRegion(centre - 1, centre + 1), 0),
    ]
    keys = {sampler._key for sampler in samplers}
    assert len(keys) == len(samplers)
    first = [sampler.take(100).numpy() for sampler in samplers[:3]]
    for one, other in itertools.combinations(first, 2):
        assert abs(np.corrcoef(one.ravel(), other.ravel())[0, 1]) < 0.25


@pytest.mark.parametrize("wide", [True, False])
def test_a_source_never_repeats_itself(wide: bool) -> None:
    source = ProcessorSource((1, 2), 0, wide)
    for draw in (source.normal, source.uniform, source.exponential):
        assert not np.array_equal(draw(5, 3), draw(5, 3))


def test_hardly_any_valid_point_is_said() -> None:
    with pytest.raises(BadInput, match="random points of the ball are valid inputs"):
        points(Ball(np.full(300, 0.5), 0.01, "2", (0, 1), 3), 10)


def test_boxes_are_uniform_and_may_be_flat() -> None:
    region = BoxRegion(np.array([-1.0, 5.0, 0.0]), np.array([3.0, 5.0, 1e-3]))
    found = points(region)
    assert (found[:, 1] == 5).all()
    assert stats.kstest(found[:, 0], stats.uniform(-1, 4).cdf).pvalue > ACCEPTED
    assert stats.kstest(found[:, 2], stats.uniform(0, 1e-3).cdf).pvalue > ACCEPTED
    assert abs(np.corrcoef(found[:, 0], found[:, 2])[0, 1]) < 4 / math.sqrt(COUNT)


def test_nothing_may_be_taken() -> None:
    sampler = Sampler(Ball(np.zeros(3), 1, "2"), 0)
    assert sampler.take(0).shape == (0, 3)
    assert torch.equal(sampler.take(5), Sampler(sampler.region, 0).take(5))
