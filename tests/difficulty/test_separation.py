"""The AUC is the share of pairs, and its interval holds the true one as often as it says."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import norm

from assay.difficulty.explanation import Separation
from assay.difficulty.ranks import midranks, spearman
from assay.difficulty.separation import Side, auc, separation

Draw = Callable[[np.random.Generator, float, int, int], tuple[np.ndarray, np.ndarray]]


def found(timeouts: list[float], solved: list[float], seed: int = 0) -> Separation:
    rng = np.random.default_rng(seed)
    sides = Side.of(timeouts), Side.of(solved)
    return separation("U", *sides, confidence=0.95, resamples=499, rng=rng)


def test_auc_is_the_share_of_pairs_with_ties_counted_half() -> None:
    rng = np.random.default_rng(1)
    for _ in range(50):
        up, down = rng.integers(0, 6, 7).astype(float), rng.integers(0, 6, 4).astype(float)
        pairs = [(a > b) + (a == b) / 2 for a in up for b in down]
        assert auc(up, down) == pytest.approx(np.mean(pairs))


def test_infinite_values_are_the_largest_and_equal_to_each_other() -> None:
    assert found([math.inf, 5.0], [1.0, math.inf]).auc == pytest.approx(2.5 / 4)
    assert found([-math.inf], [0.0]).auc == 0
    assert midranks(np.array([math.inf, 1.0, math.inf, -math.inf])).tolist() == [3.5, 2, 3.5, 1]


def test_spearman_sees_any_monotone_link_and_none_where_nothing_changes() -> None:
    x = np.arange(5.0)
    assert spearman(x, np.exp(x)) == pytest.approx(1)
    assert spearman(x, np.array([math.inf, 3, 2, 1, 0])) == pytest.approx(-1)
    assert spearman(x, np.ones(5)) == 0


def test_perfect_separation_of_few_cases_is_not_certain() -> None:
    few = found([5.0, 6.0, 7.0], [1.0, 2.0, 3.0, 4.0, 4.5])
    assert (few.auc, few.high) == (1, 1)
    assert few.low == pytest.approx(0.025 ** (1 / 3))
    many = found(list(range(100, 140)), list(range(60)))
    assert 0.85 < many.low < 0.95


def test_one_case_says_next_to_nothing() -> None:
    one = found([9.0], [1.0, 2.0, 3.0])
    assert one.low < 0.03
    assert one.high == 1


def test_the_interval_is_reproducible_whatever_the_order_of_the_cases() -> None:
    first = found([3.0, 9.0, 4.0, 8.0], [1.0, 5.0, 2.0, 6.0, 3.0])
    assert first == found([9.0, 8.0, 4.0, 3.0], [6.0, 1.0, 3.0, 2.0, 5.0])
    mirrored = found([-3.0, -9.0, -4.0, -8.0], [-1.0, -5.0, -2.0, -6.0, -3.0])
    assert mirrored.auc == pytest.approx(1 - first.auc)
    assert mirrored.low == pytest.approx(1 - first.high, abs=0.05)


def _normal(rng: np.random.Generator, true: float, m: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    return rng.normal(math.sqrt(2) * norm.ppf(true), 1, m), rng.normal(0, 1, n)


def _wide(rng: np.random.Generator, true: float, m: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    return rng.normal(math.sqrt(10) * norm.ppf(true), 3, m), rng.normal(0, 1, n)


def _skewed(rng: np.random.Generator, true: float, m: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    return rng.exponential(true / (1 - true), m), rng.exponential(1, n)


def _tied(rng: np.random.Generator, true: float, m: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    return (rng.random(m) < true).astype(float), (rng.random(n) < 1 - true).astype(float)


def _lost(rng: np.random.Generator, true: float, m: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Some timeouts have another cause: they lie below everything that was solved."""
    return np.where(rng.random(m) < true, 2, -2) + rng.random(m), rng.random(n)


def _lost_below(
    rng: np.random.Generator, true: float, m: int, n: int
) -> tuple[np.ndarray, np.ndarray]:
    return rng.random(m), np.where(rng.random(n) < true, -2, 2) + rng.random(n)


SHAPES: dict[str, Draw] = {
    "normal": _normal,
    "wide": _wide,
    "skewed": _skewed,
    "tied": _tied,
    "lost": _lost,
    "lost below": _lost_below,
}
TRUE = (0.5, 0.8, 0.97)


def coverage(draw: Draw, true: float, m: int, n: int, draws: int) -> float:
    rng = np.random.default_rng([round(100 * true), m, n])
    held = 0
    for _ in range(draws):
        up, down = draw(rng, true, m, n)
        sides = Side.of(up), Side.of(down)
        interval = separation("U", *sides, confidence=0.95, resamples=199, rng=rng)
        held += interval.low <= true <= interval.high
    return held / draws


def least(draws: int) -> float:
    """What 95 % coverage may look like in so many draws: 3.5 standard errors less."""
    return 0.95 - 3.5 * math.sqrt(0.95 * 0.05 / draws)


@pytest.mark.parametrize("true", TRUE)
@pytest.mark.parametrize("shape", ["normal", "lost"])
def test_coverage_with_three_timeouts_against_five_solved(shape: str, true: float) -> None:
    assert coverage(SHAPES[shape], true, 3, 5, draws=300) >= least(300)


@pytest.mark.nightly
@pytest.mark.parametrize(("m", "n"), [(2, 10), (5, 3), (3, 30), (10, 10), (10, 30), (20, 60)])
@pytest.mark.parametrize("shape", SHAPES)
def test_coverage_whatever_the_shape_of_the_data(shape: str, m: int, n: int) -> None:
    for true in TRUE:
        assert coverage(SHAPES[shape], true, m, n, draws=300) >= least(300), true


def test_copies_of_a_case_add_nothing_when_they_count_as_one() -> None:
    up, down = [5.0, 6.0, 7.0, 2.5], [1.0, 2.0, 3.0, 4.0, 4.5]
    rng = np.random.default_rng(0)
    sides = (Side.of(np.repeat(v, 8), np.repeat(np.arange(len(v)), 8)) for v in (up, down))
    copied = separation("U", *sides, confidence=0.95, resamples=499, rng=rng)
    once = found(up, down)
    assert (copied.auc, copied.low, copied.high) == pytest.approx((once.auc, once.low, once.high))
    assert Side.of([1.0] * 12, [0] * 10 + [1, 2]).worth == pytest.approx(144 / 102)


def clustered_coverage(sizes: list[int], true: float, spread: float, draws: int) -> float:
    """Four families of ten are slow, by lot; `spread` is that inside families, 1 between them."""
    rng = np.random.default_rng([len(sizes), round(100 * true)])
    families = np.repeat(np.arange(len(sizes)), sizes)
    shift = norm.ppf(true) * math.sqrt(2 * (1 + spread**2))
    held = 0
    for _ in range(draws):
        slow = rng.permutation(len(sizes)) < max(1, round(0.4 * len(sizes)))
        late = rng.random(families.size) < np.where(slow, 0.95, 0.05)[families]
        late[:2] = True, False
        values = rng.normal(size=len(sizes))[families] + shift * late
        values += spread * rng.normal(size=families.size)
        sides = (Side.of(values[side], families[side]) for side in (late, ~late))
        interval = separation("U", *sides, confidence=0.95, resamples=99, rng=rng)
        held += interval.low <= true <= interval.high
    return held / draws


@pytest.mark.parametrize(
    "sizes", [[8] * 10, [2] * 40, [20] * 3, [1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24]], ids=str
)
def test_coverage_when_families_stand_and_fall_together(sizes: list[int]) -> None:
    for true in (0.5, 0.8):
        assert clustered_coverage(sizes, true, 0.15, draws=200) >= least(200), true
