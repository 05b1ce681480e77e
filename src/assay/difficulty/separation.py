"""How well a component tells unsolved instances from solved ones: its AUC, with an interval.

The AUC is that of the raw value (the convention of VeriStress-GT): the chance that an unsolved
instance has the larger value, ties counted half. M_min is harder when small, so there values below
one half are the ones to expect.

Cases of one family, or of one network, are no independent cases (`clusters.py`). So the interval
is about other families as well: whole clusters are drawn, variances are those between clusters, and
each side counts as many cases as it has clusters (Kish's number where sizes differ). It is the
hull of three, because each fails somewhere:

- the percentile bootstrap follows any shape of the data, but is [1, 1] where the cases at hand
  are separated perfectly, however few they are;
- Newcombe's score interval (2006, his method 5, with the variance of Hanley and McNeil) knows
  what few cases can say, but believes in distributions of a common shape;
- Clopper and Pearson's interval for so many independent trials as would have the variance that
  was measured (DeLong, Obuchowski; Korn and Graubard's correction for few cases), never fewer than
  the smaller side has clusters: it holds where a part of the timeouts lies at the wrong end.

Simulated coverage at 95 % (tests/difficulty/test_separation.py has a part of it): AUCs of .5, .8
and .97 under six shapes of data (normal, unequal spread, exponential, two values, a part of either
side at the wrong end) and 2 against 10, 3 against 5 up to 20 against 60 cases. The lowest of the
144 settings is 95.5 % in 1,500 draws; the bootstrap alone falls to 6 %, and its hull with
Newcombe's interval to 51 %. In clusters, 2 to 40 of equal and unequal size, slow by lot, alike or
not: at AUC .5 the lowest of 72 settings is 97.2 % (180 draws), at .8 and .97 of 96 settings 99.3 %
(150 draws). The price is width: with 3 against 5 cases perfectly apart, the interval still begins
at 0.29; with three families it says next to nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.difficulty.clusters import Numbers
from assay.difficulty.explanation import Separation
from assay.difficulty.ranks import Values, midranks, pairs_won

_BATCH = 4_000_000
_BISECTIONS = 60


def auc(timeouts: Values, solved: Values) -> float:
    return pairs_won(timeouts, solved) / (timeouts.size * solved.size)


@dataclass(frozen=True)
class Side:
    """The values of the timeouts, or of what was solved, and the cluster that each lies in."""

    values: Values
    clusters: Numbers

    @classmethod
    def of(
        cls, values: Sequence[float] | Values, clusters: Sequence[int] | Numbers | None = None
    ) -> Side:
        """Sorted, so that the order of the cases does not matter; without clusters, all differ."""
        found = np.asarray(values, float)
        _, numbers = np.unique(
            np.arange(found.size) if clusters is None else clusters, return_inverse=True
        )
        order = np.lexsort((numbers, found))
        return cls(found[order], numbers[order])

    @property
    def worth(self) -> float:
        """How many clusters there are, large ones counted as the few that they outweigh (Kish)."""
        sizes = np.bincount(self.clusters)
        return float(sizes.sum() ** 2 / (sizes**2).sum())


def separation(
    component: str,
    timeouts: Side,
    solved: Side,
    *,
    confidence: float,
    resamples: int,
    rng: np.random.Generator,
) -> Separation:
    """Both sides must have a case."""
    found = auc(timeouts.values, solved.values)
    tail = (1 - confidence) / 2
    intervals = (
        np.quantile(_resampled(timeouts, solved, resamples, rng), [tail, 1 - tail]),
        _score_interval(found, timeouts.worth, solved.worth, tail),
        _exact_interval(found, timeouts, solved, tail),
    )
    low = min(float(interval[0]) for interval in intervals)
    high = max(float(interval[1]) for interval in intervals)
    return Separation(component, found, min(low, found), max(high, found))


def _resampled(timeouts: Side, solved: Side, resamples: int, rng: np.random.Generator) -> Values:
    """The AUCs of bootstrap samples, the clusters of each side drawn anew with replacement."""
    values = np.unique(np.concatenate([timeouts.values, solved.values]))
    batch = max(1, _BATCH // (timeouts.values.size + solved.values.size))
    found = []
    for begin in range(0, resamples, batch):
        rows = min(batch, resamples - begin)
        up, down = (_counts(side, values, rows, rng) for side in (timeouts, solved))
        below = np.cumsum(down, axis=1) - down / 2
        found.append(np.einsum("rk,rk->r", up, below) / (up.sum(axis=1) * down.sum(axis=1)))
    return np.concatenate(found)


def _counts(side: Side, values: Values, rows: int, rng: np.random.Generator) -> Values:
    """How often each value is drawn, sample by sample."""
    clusters = int(side.clusters.max()) + 1
    drawn = rng.integers(0, clusters, size=(rows, clusters)) + clusters * np.arange(rows)[:, None]
    times = np.bincount(drawn.ravel(), minlength=rows * clusters).reshape(rows, clusters)
    counts = np.zeros((rows, values.size))
    own, begins = np.unique(side.values, return_index=True)
    counts[:, np.searchsorted(values, own)] = np.add.reduceat(
        times[:, side.clusters], begins, axis=1
    )
    return counts


def _score_interval(found: float, m: float, n: float, tail: float) -> tuple[float, float]:
    """All AUCs whose standard error, were they true, explains the one that was found."""
    from scipy.stats import norm

    z, more = float(norm.isf(tail)), (m + n) / 2 - 1

    def explains(true: float) -> bool:
        shape = 1 + more * (1 - true) / (2 - true) + more * true / (1 + true)
        return (found - true) ** 2 <= z * z * true * (1 - true) * shape / (m * n)

    ends = []
    for end in (0.0, 1.0):
        inside, outside = found, end
        for _ in range(_BISECTIONS):
            middle = (inside + outside) / 2
            inside, outside = (middle, outside) if explains(middle) else (inside, middle)
        ends.append(outside)
    return ends[0], ends[1]


def _exact_interval(found: float, timeouts: Side, solved: Side, tail: float) -> tuple[float, float]:
    """Clopper-Pearson for a share of as many trials as the measured variance is worth."""
    from scipy.stats import beta, norm, t

    fewest, most = sorted((timeouts.worth, solved.worth))
    trials = fewest
    variance = _variance(timeouts, solved)
    if fewest > 1 and variance > 0:
        few = float(norm.isf(tail) / t.isf(tail, fewest - 1)) ** 2
        trials = min(max(few * found * (1 - found) / variance, trials), most)
    hits, misses = found * trials, (1 - found) * trials
    low = float(beta.ppf(tail, hits, misses + 1)) if hits > 0 else 0.0
    high = float(beta.isf(tail, hits + 1, misses)) if misses > 0 else 1.0
    return low, high


def _variance(timeouts: Side, solved: Side) -> float:
    """DeLong's variance with clusters (Obuchowski), without the part that both sides share.

    How much the share of pairs won differs from cluster to cluster. What is left out, the
    clusters with cases on both sides, would mostly make it smaller.
    """
    m, n = timeouts.values.size, solved.values.size
    ranks = midranks(np.concatenate([timeouts.values, solved.values]))
    won = (ranks[:m] - midranks(timeouts.values)) / n
    lost = (ranks[m:] - midranks(solved.values)) / m
    return _variance_of_mean(won, timeouts.clusters) + _variance_of_mean(lost, solved.clusters)


def _variance_of_mean(shares: Values, clusters: Numbers) -> float:
    sums = np.bincount(clusters, weights=shares - shares.mean())
    if sums.size < 2:
        return 0.0
    return float(sums.size / (sums.size - 1) * (sums @ sums) / shares.size**2)
