"""Exact statements about a fixed number of samples: Clopper-Pearson, and the smallest test."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc, betainccinv, betaincinv, btdtria

from assay.analyse.promise import Promise
from assay.errors import BadInput

# The tails below are good to about 1e-12; a test must meet its errors with this much to spare.
SPARE = 1e-9


def clopper_pearson(
    failures: ArrayLike, samples: ArrayLike, confidence: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The exact two-sided interval of a rate (Clopper and Pearson 1934), for each pair of counts.

    It holds for a number of samples that was fixed beforehand; where one stops when one likes,
    use `assay.analyse.sequential.ConfidenceSequence`.
    """
    if not 0 < confidence < 1:
        raise BadInput(f"a confidence of {confidence:g} is not above 0 and below 1; try 0.95")
    s, n = np.asarray(failures, np.float64), np.asarray(samples, np.float64)
    if np.any((s < 0) | (s > n)):
        raise BadInput("failures must lie between 0 and the number of samples; check the counts")
    side = (1 - confidence) / 2
    # A parameter of zero has no Beta law; there the end is 0 or 1 anyway.
    lower = np.where(s > 0, betaincinv(np.maximum(s, 1), n - s + 1, side), 0.0)
    upper = np.where(s < n, betainccinv(s + 1, np.maximum(n - s, 1), side), 1.0)
    return lower, upper


def at_most(failures: ArrayLike, samples: ArrayLike, rate: float) -> NDArray[np.float64]:
    """P(at most so many failures), by the Beta law; scipy.stats would take a second to import."""
    k, n = np.broadcast_arrays(np.asarray(failures, float), np.asarray(samples, float))
    inside = betainc(np.where(k < n, n - k, 1), np.maximum(k, 0) + 1, 1 - rate)
    return np.where(k < 0, 0.0, np.where(k < n, inside, 1.0))


def more_than(failures: ArrayLike, samples: ArrayLike, rate: float) -> NDArray[np.float64]:
    """P(more than so many failures): its own tail, so that a small one keeps all its digits."""
    k, n = np.broadcast_arrays(np.asarray(failures, float), np.asarray(samples, float))
    inside = betainc(np.maximum(k, 0) + 1, np.where(k < n, n - k, 1), rate)
    return np.where(k < 0, 1.0, np.where(k < n, inside, 0.0))


@dataclass(frozen=True)
class FixedTest:
    """Draw `samples`; robust if at most `allowed` of them fail."""

    samples: int
    allowed: int

    def robust(self, rate: float) -> float:
        """The exact probability of the verdict `robust` where the failure rate is `rate`."""
        return float(at_most(self.allowed, self.samples, rate))

    def not_robust(self, rate: float) -> float:
        return float(more_than(self.allowed, self.samples, rate))


def smallest_test(promise: Promise) -> FixedTest:
    """The test of fewest samples whose two exact errors keep the promise.

    For each number of allowed failures the fewest samples that keep beta are the best chance to
    keep alpha. With real-valued samples that chance only grows with the number allowed, which is
    bisected; rounding samples up to an integer can spoil it, so integers are tried from there on.
    """
    allowed = _first_possible(promise)
    while True:
        counts = np.arange(allowed, allowed + 64, dtype=np.float64)
        samples = _fewest_samples(counts, promise)
        kept = more_than(counts, samples, promise.eps_inner) <= promise.alpha * (1 - SPARE)
        if kept.any():
            best = int(np.argmax(kept))
            return FixedTest(int(samples[best]), int(counts[best]))
        allowed += counts.size


def _first_possible(promise: Promise) -> int:
    def possible(allowed: int) -> bool:
        samples = _real_samples(np.float64(allowed), promise)
        error = betainc(allowed + 1.0, samples - allowed, promise.eps_inner)
        return bool(error <= promise.alpha)

    if possible(0):
        return 0
    low, high = 0, 1
    while not possible(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if possible(middle) else (middle, high)
    return high


def _real_samples(
    allowed: NDArray[np.float64] | np.float64, promise: Promise
) -> NDArray[np.float64]:
    """Where P(at most `allowed` failures at eps) = beta, the binomial law continued to reals."""
    return np.asarray(btdtria(promise.beta, allowed + 1, 1 - promise.eps) + allowed)


def _fewest_samples(allowed: NDArray[np.float64], promise: Promise) -> NDArray[np.float64]:
    """The fewest samples that keep beta: the real number, made whole by bisection around it."""
    limit = promise.beta * (1 - SPARE)

    def kept(samples: NDArray[np.float64]) -> NDArray[np.bool_]:
        return np.asarray(at_most(allowed, samples, promise.eps) <= limit)

    guess = np.ceil(_real_samples(allowed, promise))
    reach = 1.0
    while True:
        # As many samples as may fail keep nothing, so the bracket is never empty from below.
        low, high = np.maximum(guess - reach, allowed), guess + reach
        if kept(high).all() and not kept(low).any():
            break
        reach *= 8
    while np.any(high - low > 1):
        middle = np.floor((low + high) / 2)
        enough = kept(middle)
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return high
