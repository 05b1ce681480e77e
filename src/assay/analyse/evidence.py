"""Evidence about a rate that may be looked at after every sample: mixtures of likelihood ratios.

Against "the rate is p or more", with h hits among n trials,

    E_n(p) = sum_k w_k u_k^h ((1 - u_k p) / (1 - p))^(n - h),    u_k in [0, 1),  sum_k w_k = 1

mixes the likelihood ratios of the rates u_k p < p. One factor has the mean
r u + (1 - r)(1 - u p)/(1 - p) under the rate r: 1 at r = p, and falling in r. So E_n(p) is a
non-negative supermartingale of mean at most 1 under every rate r >= p, and by Ville's inequality
(1939) it ever reaches 1/error with probability at most `error`. It grows with p and falls with h,
so what excludes p excludes every larger rate, and with fewer hits too.

Evidence against "p or less" is the same with misses for hits and 1 - p for p.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

# Stands for the logarithm of zero (or of its inverse): finite, so that nought times it is nought.
UNBOUNDED = 1e290
# Of the terms that matter (those near the threshold) the two products in the exponent cancel, so
# neither exceeds n log(1/(1-p)); each carries at most eight roundings of 2^-53 in its factors.
# The rest (weights, the sum of exponentials) is worth less than the constant.
ROUNDING = 2.0**-49
CONSTANT_SLACK = 1e-9


@dataclass(frozen=True)
class Mixture:
    """The alternatives u_k, each as its gap 1 - u_k in (0, 1], and their weights."""

    gaps: tuple[float, ...]
    weights: tuple[float, ...]

    def __post_init__(self) -> None:
        if not all(0 < gap <= 1 for gap in self.gaps):
            raise ValueError("the gaps of a mixture lie in (0, 1]")
        if not math.isclose(math.fsum(self.weights), 1.0, abs_tol=1e-12):
            raise ValueError("the weights of a mixture add up to 1")


def geometric(octaves: int, decay: float) -> Mixture:
    """Gaps 1, 15/16, 3/4, 1/2, 1/4, 1/8, ...: one is near the best for every count of trials.

    The weights fall as a power of the position, so that a halved gap, which takes four times as
    many trials, costs a few more of them only. The first three serve the first few hits.
    """
    gaps = (1.0, 0.9375, 0.75, *(2.0**-octave for octave in range(1, octaves + 1)))
    weights = [position**-decay for position in range(1, len(gaps) + 1)]
    total = math.fsum(weights)
    return Mixture(gaps, tuple(weight / total for weight in weights))


@dataclass(frozen=True)
class Evidence:
    """The mixture against the rates p or more, where `odds` is p / (1 - p), at 1/error."""

    mixture: Mixture
    error: float

    def excess(
        self, odds: NDArray[np.float64] | float, trials: NDArray[np.int64], hits: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """A lower bound of log(E_n(p) error): where it is not negative, p is excluded."""
        exponents = self._exponents(self._gains(odds), trials, hits)
        return self._excess(exponents, odds, trials)

    def most_hits(self, odds: float, trials: NDArray[np.int64]) -> NDArray[np.int64]:
        """The most hits with which p is excluded after so many trials; -1 where none are so few.

        Newton's method on the convex, falling `excess` comes from the left, from the hits with
        which one alternative alone suffices; whole numbers are then put right one by one.
        """
        gains = self._gains(odds)
        steepness = self._losses - gains
        start = (math.log(self.error) + self._log_weights + trials[:, None] * gains) / -steepness
        hits = np.clip(start.max(axis=1), 0.0, trials)
        for _ in range(50):
            exponents = self._exponents(gains, trials, hits)
            peaks = exponents.max(axis=1, keepdims=True)
            shares = np.exp(exponents - peaks)
            slope = (shares * steepness).sum(axis=1) / shares.sum(axis=1)
            step = self._excess(exponents, odds, trials) / -slope
            hits = np.clip(hits + step, 0.0, trials)
            if np.all(step < 0.25):
                break
        return self._whole(odds, trials, np.floor(hits).astype(np.int64))

    def _whole(
        self, odds: float, trials: NDArray[np.int64], hits: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        while (more := (hits < trials) & (self.excess(odds, trials, hits + 1) >= 0)).any():
            hits = hits + more
        while (fewer := (hits >= 0) & (self.excess(odds, trials, hits) < 0)).any():
            hits = hits - fewer
        return hits

    @cached_property
    def _log_weights(self) -> NDArray[np.float64]:
        return np.asarray(np.log(self.mixture.weights))

    @cached_property
    def _losses(self) -> NDArray[np.float64]:
        """What a hit adds to the exponent of each alternative: log u_k."""
        with np.errstate(divide="ignore"):
            logarithms = np.log1p(-np.asarray(self.mixture.gaps))
        return np.asarray(np.maximum(logarithms, -UNBOUNDED))

    def _gains(self, odds: NDArray[np.float64] | float) -> NDArray[np.float64]:
        """What a miss adds to it: log((1 - u_k p) / (1 - p)) = log(1 + (1 - u_k) odds)."""
        products = np.asarray(self.mixture.gaps) * np.asarray(odds, np.float64)[..., None]
        return np.asarray(np.minimum(np.log1p(products), UNBOUNDED))

    def _exponents(
        self,
        gains: NDArray[np.float64],
        trials: NDArray[np.int64],
        hits: NDArray[np.int64] | NDArray[np.float64],
    ) -> NDArray[np.float64]:
        exponents: NDArray[np.float64] = self._log_weights + hits[..., None] * self._losses
        exponents += (trials - hits)[..., None] * gains
        return exponents

    def _excess(
        self,
        exponents: NDArray[np.float64],
        odds: NDArray[np.float64] | float,
        trials: NDArray[np.int64],
    ) -> NDArray[np.float64]:
        peaks = exponents.max(axis=-1)
        sums = np.exp(exponents - peaks[..., None]).sum(axis=-1)
        largest_gain = np.minimum(np.log1p(odds), UNBOUNDED)
        slack = CONSTANT_SLACK + ROUNDING * trials * largest_gain
        excess: NDArray[np.float64] = peaks + np.log(sums) + math.log(self.error) - slack
        return excess
