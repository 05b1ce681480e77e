"""Statistics of ranks: only the order of values counts, so infinite ones are as good as others."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


def midranks(values: Values) -> Values:
    """Ranks from 1 up; equal values share the middle of theirs."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts - 1) / 2)[places], dtype=np.float64)


def spearman(first: Values, second: Values) -> float:
    """The correlation of the ranks; 0 where one of the two never changes."""
    a, b = midranks(first), midranks(second)
    a, b = a - a.mean(), b - b.mean()
    scale = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / scale if scale > 0 else 0.0


def pairs_won(positives: Values, negatives: Values) -> float:
    """Over all pairs: how often the positive has the larger value, ties counted half."""
    ranks = midranks(np.concatenate([positives, negatives]))[: positives.size]
    return float(ranks.sum()) - positives.size * (positives.size + 1) / 2
