"""What sampled gradients say: the local regions A_tau (Eq. 14) and the dimension d_eff (Eq. 15)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

CONFIDENCE = 0.95
ETA = 1e-12
"""The paper's small constant: beside margins in Eq. 11, squared beside squares in Eq. 15."""
SATURATED = 0.9
"""From this share of samples with a cell of their own, the count says little but the sample's."""
_RESAMPLES = 1000
_MOST_PICKS = 2**20
"""Resampled values that are held at once."""
_FEW = 200
"""Below this many samples a bootstrap covers less than it says."""
_HAIR = 1e-9
"""Ties between cells go up, and equal gradients that differ by rounding stay together."""


def cell_counts(gradients: Sequence[np.ndarray], tau: float, steepest: float) -> Counter[bytes]:
    """How many gradients fall into each cell of the grid of width tau, after division by L_c."""
    width = tau * steepest
    if width == 0:  # all gradients are zero
        return Counter({b"": sum(map(len, gradients))})
    found: Counter[bytes] = Counter()
    for part in gradients:
        places = np.floor(part / width + (0.5 + _HAIR)).astype(np.int32)
        found.update(row.tobytes() for row in places)
    return found


@dataclass(frozen=True)
class Regions:
    """A_tau with how far it may be from its expectation at this sample size.

    With L_c and the number of samples held fixed, `low` and `high` enclose it with 95 %
    confidence, whatever the network: one sample changes the count by at most one, so by
    McDiarmid's inequality it is rarely far from its mean. L_c itself is the largest gradient that
    was seen; a steeper spot that every sample missed would coarsen the grid, and that is not
    covered. `unseen` estimates the share of the region in cells not met yet (Good and
    Turing: the samples alone in theirs).
    """

    value: float
    low: float
    high: float
    unseen: float
    distinct: int
    samples: int

    @classmethod
    def of(cls, cells: Counter[bytes]) -> Regions:
        count, samples = len(cells), cells.total()
        alone = sum(times == 1 for times in cells.values())
        slack = math.sqrt(samples * math.log(2 / (1 - CONFIDENCE)) / 2)
        return cls(
            value=math.log(count),
            low=math.log(max(1.0, count - slack)),
            high=math.log(min(float(samples), count + slack)),
            unseen=alone / samples,
            distinct=count,
            samples=samples,
        )

    @property
    def saturated(self) -> bool:
        """Whether nearly every sample has a cell of its own."""
        return self.distinct >= SATURATED * self.samples


@dataclass(frozen=True)
class Dimension:
    """d_eff with an interval of 95 %: a bootstrap, or for few samples Hoeffding's inequality."""

    value: float
    low: float
    high: float


def effective_dimension(
    gradients: np.ndarray, halves: Sequence[np.ndarray], draw: Generator
) -> Dimension:
    """The mean of |g|_1^2 / (|g|_2^2 + eta^2); `halves` are rows drawn alike, resampled apart."""
    each = participation(gradients)
    value = float(each.mean())
    if len(each) < _FEW:
        # No ratio exceeds the number of inputs, so this holds for any network.
        inputs = gradients.shape[1]
        slack = inputs * math.sqrt(math.log(2 / (1 - CONFIDENCE)) / (2 * len(each)))
        return Dimension(value, max(0.0, value - slack), min(float(inputs), value + slack))
    means = sum(
        _resampled_means(each[rows], draw) * (len(rows) / len(each)) for rows in halves if len(rows)
    )
    low, high = np.quantile(means, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return Dimension(value, min(value, float(low)), max(value, float(high)))


def participation(gradients: np.ndarray) -> np.ndarray:
    """|g|_1^2 / (|g|_2^2 + eta^2) row by row."""
    sizes = np.abs(gradients)
    # In units of each gradient's largest entry nothing overflows or underflows.
    largest = sizes.max(axis=1, initial=0.0)
    unit = np.where(largest > 0, largest, 1.0)
    scaled = sizes / unit[:, None]
    with np.errstate(over="ignore"):
        flat = np.where(largest > 0, (ETA / unit) ** 2, 1.0)
    ratios: np.ndarray = scaled.sum(axis=1) ** 2 / ((scaled**2).sum(axis=1) + flat)
    return ratios


def _resampled_means(values: np.ndarray, draw: Generator) -> np.ndarray:
    turn = max(1, _MOST_PICKS // len(values))
    found = []
    for start in range(0, _RESAMPLES, turn):
        count = min(turn, _RESAMPLES - start)
        picks = draw.integers(0, len(values), size=(count, len(values)))
        found.append(values[picks].mean(axis=1))
    return np.concatenate(found)


def mass_below_minimum(samples: int) -> float:
    """With 95 % confidence at most this share of the sampled mixture lies below the minimum.

    If the share were larger, all samples would miss it with probability below 5 %: exact, and for
    halves drawn apart as well, since the chance to miss is then smaller still.
    """
    return float(-np.expm1(math.log(1 - CONFIDENCE) / samples))
