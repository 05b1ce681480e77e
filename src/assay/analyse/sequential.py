"""A confidence sequence for a rate: an interval after every sample, all of them right at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.analyse.boundaries import NEVER, Boundaries, Counts
from assay.analyse.evidence import Evidence, Mixture, geometric
from assay.errors import BadInput

# Serves any rate and any number of samples up to about 1e8.
GENERAL = geometric(octaves=26, decay=1.3)


@dataclass(frozen=True)
class ConfidenceSequence:
    """Intervals of a rate that hold at all sample counts together, so at any stopping time too.

    With probability at most `error_above` the rate is ever above the interval, with probability at
    most `error_below` ever below it (Ville's inequality, see `assay.analyse.evidence`).
    `against_above` and `against_below` are the alternatives that make it short in places of
    interest.
    """

    error_below: float
    error_above: float
    against_below: Mixture = GENERAL
    against_above: Mixture = GENERAL

    def __post_init__(self) -> None:
        for error in (self.error_below, self.error_above):
            if not 0 < error < 1:
                raise BadInput(
                    f"an interval that misses with probability {error:g} says nothing or never "
                    f"ends; give an error above 0 and below 1, such as 0.025"
                )

    def interval(
        self, samples: ArrayLike, failures: ArrayLike
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The lower and upper bounds of the rate after these counts, rounded outwards.

        Being excluded is monotone in the rate, so each end is found by bisection, to the last bit:
        the largest rate that is excluded from below, the smallest that is excluded from above.
        """
        n, s = np.broadcast_arrays(np.asarray(samples, np.int64), np.asarray(failures, np.int64))
        if np.any((s < 0) | (s > n)):
            raise BadInput("failures must lie between 0 and the samples; check the counts")

        def too_high(rates: NDArray[np.float64]) -> NDArray[np.bool_]:
            return self._above.excess(_odds(rates), n, s) >= 0

        def high_enough(rates: NDArray[np.float64]) -> NDArray[np.bool_]:
            return self._below.excess(_odds_against(rates), n, n - s) < 0

        lower = np.asarray(np.nextafter(_smallest(high_enough, n.shape), 0.0))
        return lower, _smallest(too_high, n.shape)

    def excluding(self, high: float, low: float, at: Counts) -> Boundaries:
        """After `at` samples: with how few failures `high`, with how many `low` is excluded."""
        accept_at = self._above.most_hits(high / (1 - high), at)
        # Only the rate 0 itself is excluded by any failure whatever.
        against = float(_odds_against(np.asarray(low))) if low > 0 else np.inf
        successes = self._below.most_hits(against, at)
        return Boundaries(at, accept_at, np.where(successes < 0, NEVER, at - successes))

    @property
    def _above(self) -> Evidence:
        return Evidence(self.against_above, self.error_above)

    @property
    def _below(self) -> Evidence:
        return Evidence(self.against_below, self.error_below)


def _odds(rates: NDArray[np.float64]) -> NDArray[np.float64]:
    return rates / (1 - rates)


def _odds_against(rates: NDArray[np.float64]) -> NDArray[np.float64]:
    """Finite: less than the tiniest of rates counts as that one, against which no more is said."""
    return np.asarray((1 - rates) / np.maximum(rates, np.finfo(np.float64).tiny))


def _smallest(
    holds: Callable[[NDArray[np.float64]], NDArray[np.bool_]], shape: tuple[int, ...]
) -> NDArray[np.float64]:
    """The smallest rate where `holds` (which stays true from there on), and 1 if there is none.

    Non-negative floats are ordered as their bits are, which makes bisection end at neighbours.
    """
    low = np.full(shape, -1, np.int64)
    high = np.full(shape, np.float64(1.0).view(np.int64), np.int64)
    while np.any(high - low > 1):
        middle = np.maximum((low + high) // 2, 0)
        found = holds(middle.view(np.float64)) & (middle < high)
        low, high = np.where(found, low, middle), np.where(found, middle, high)
    return high.view(np.float64)
