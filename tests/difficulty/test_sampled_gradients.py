"""What is said with confidence about sampled gradients holds: computed exactly or simulated."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.difficulty.gradients import Regions, cell_counts, effective_dimension, mass_below_minimum


def counted(places: np.ndarray) -> Regions:
    return Regions.of(cell_counts([places.reshape(-1, 1).astype(float)], 1.0, 1.0))


def test_the_share_below_the_minimum_is_exact() -> None:
    """All of n samples miss a set of this share with probability 5 %, for halves apart at most."""
    for n in (2, 10, 1000, 10**6):
        share = mass_below_minimum(n)
        assert (1 - share) ** n == pytest.approx(0.05, rel=1e-9)
        for uneven in (0.0, 0.3, 0.9):
            first, second = share * (1 + uneven), share * (1 - uneven)
            if first < 1:
                assert (1 - first) ** (n / 2) * (1 - second) ** (n / 2) <= 0.05 * (1 + 1e-9)


@pytest.mark.parametrize("tail", [0.0, 0.5, 2.0])
def test_the_count_of_cells_is_within_its_bounds(tail: float) -> None:
    weights = 1 / np.arange(1, 301) ** tail
    weights /= weights.sum()
    samples, repeats = 200, 400
    expected = (1 - (1 - weights) ** samples).sum()
    draw = np.random.default_rng(1)
    held = 0
    for _ in range(repeats):
        found = counted(draw.choice(300, samples, p=weights))
        held += found.low <= math.log(expected) <= found.high
    assert held / repeats >= 0.95


def test_unseen_cells_are_estimated_without_bias() -> None:
    weights = 1 / np.arange(1, 101)
    weights /= weights.sum()
    draw = np.random.default_rng(2)
    estimates, truths = [], []
    for _ in range(400):
        places = draw.choice(100, 150, p=weights)
        estimates.append(counted(places).unseen)
        truths.append(1 - weights[np.unique(places)].sum())
    assert np.mean(estimates) == pytest.approx(np.mean(truths), abs=0.01)


@pytest.mark.parametrize("each", [1, 5, 10, 25, 50, 100])
def test_the_dimension_is_within_its_bounds(each: int) -> None:
    """Gradients with one or with nine equal entries, in shares that differ between the halves."""
    repeats, held = 300, 0
    draw = np.random.default_rng(3)
    truth = (0.2 * 9 + 0.8 * 1 + 0.7 * 9 + 0.3 * 1) / 2
    for _ in range(repeats):
        wide = np.concatenate([draw.random(each) < 0.2, draw.random(each) < 0.7])
        gradients = np.where(wide[:, None], np.ones(9), np.eye(9)[0])
        halves = [np.arange(each), np.arange(each, 2 * each)]
        found = effective_dimension(gradients, halves, draw)
        held += found.low <= truth <= found.high
    # A bootstrap is approximate: 95 % is meant, two and a half standard errors are granted.
    assert held / repeats >= 0.95 - 2.5 * math.sqrt(0.95 * 0.05 / repeats)


@given(
    st.lists(
        st.floats(-1e150, 1e150).filter(lambda v: v == 0 or abs(v) > 1e-5), min_size=1, max_size=9
    )
)
def test_the_dimension_lies_between_its_extremes(entries: list[float]) -> None:
    rows = [np.arange(1)]
    found = effective_dimension(np.array([entries]), rows, np.random.default_rng(0))
    nonzero = sum(v != 0 for v in entries)
    assert (0.999 if nonzero else 0) <= found.value <= nonzero + 1e-9


def test_equal_gradients_on_the_edge_of_a_cell_stay_together() -> None:
    """0.05 on a grid of width 0.1 lies between two cells; rounding must not split them."""
    rng = np.random.default_rng(4)
    gradients = np.full((500, 20), 0.05) * (1 + 1e-15 * rng.integers(-4, 5, size=(500, 20)))
    assert len(cell_counts([gradients], 0.1, 1.0)) == 1
