"""What a stopping rule does at a given failure rate, exactly: dynamic programming over samples.

The state is the law of the number of failures among the samples that have not led to a verdict.
It moves from look to look by the binomial law of the samples in between; at a look the mass beyond
a boundary stops. Looks at which no state can have reached a boundary are passed over. Nothing is
sampled; sums of non-negative floats are all there is, and what is lost is counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from assay.analyse.boundaries import Between, Boundaries

# States with less mass than this at the ends are dropped, and their mass is counted as lost.
NEGLIGIBLE = 1e-40
# How many samples' boundaries are asked for at a time.
STRETCH = 65_536


@dataclass(frozen=True)
class Operation:
    """Probabilities of the endings at one failure rate, and the expected number of samples.

    `undecided` is the mass without a verdict at the horizon; it adds the horizon to `samples`,
    which is a lower bound of the rule's own expectation where it is not zero. `lost` is what is
    missing from a sum of 1, by rounding and dropped states: a cautious reader adds it to an error.
    """

    rate: float
    robust: float
    not_robust: float
    undecided: float
    samples: float
    lost: float


@dataclass(frozen=True, eq=False)
class Stops:
    """Where a rule stops at one failure rate: the mass of each pair of samples and failures.

    Runs without a verdict at the horizon stop there. `lost` as of an Operation.
    """

    samples: NDArray[np.int64]
    failures: NDArray[np.int64]
    mass: NDArray[np.float64]
    lost: float


def operation(between: Between, rate: float, horizon: int) -> Operation:
    """Run the rule's boundaries at this failure rate for at most `horizon` samples."""
    state = _State(rate)
    robust = not_robust = samples = 0.0
    for at, _, low, high in _stopping(between, horizon, state):
        stopped = float(low.sum()), float(high.sum())
        robust += stopped[0]
        not_robust += stopped[1]
        samples += at * sum(stopped)
    undecided = float(state.mass.sum())
    total = robust + not_robust + undecided
    return Operation(
        rate, robust, not_robust, undecided, samples + horizon * undecided, abs(1 - total)
    )


def stops(between: Between, rate: float, horizon: int) -> Stops:
    """The same, with all the places where it stops."""
    state = _State(rate)
    samples, failures, masses = [], [], []
    for at, first, low, high in _stopping(between, horizon, state):
        for start, mass in zip(first, (low, high), strict=True):
            samples.append(np.full(mass.size, at, np.int64))
            failures.append(start + np.arange(mass.size, dtype=np.int64))
            masses.append(mass)
    samples.append(np.full(state.mass.size, horizon, np.int64))
    failures.append(state.lowest + np.arange(state.mass.size, dtype=np.int64))
    masses.append(state.mass)
    mass = np.concatenate(masses)
    return Stops(
        np.concatenate(samples), np.concatenate(failures), mass, abs(1 - float(mass.sum()))
    )


def _stopping(
    between: Between, horizon: int, state: _State
) -> Iterator[tuple[int, tuple[int, int], NDArray[np.float64], NDArray[np.float64]]]:
    """At each look: the samples, the fewest failures on either side, and the mass that stops."""
    for at, accept_at, reject_at in _looks(between, horizon, state):
        state.advance(at)
        yield at, *state.split(accept_at, reject_at)
        if state.mass.size == 0:
            break


class _State:
    """The mass of `lowest`, `lowest + 1`, ... failures after `samples` samples."""

    def __init__(self, rate: float) -> None:
        self.rate = rate
        self.samples = 0
        self.lowest = 0
        self.mass = np.ones(1)

    @property
    def highest(self) -> int:
        return self.lowest + self.mass.size - 1

    def advance(self, samples: int) -> None:
        start, kernel = _steps(samples - self.samples, self.rate)
        self.mass = np.convolve(self.mass, kernel)
        self.lowest += start
        self.samples = samples

    def split(
        self, accept_at: int, reject_at: int
    ) -> tuple[tuple[int, int], NDArray[np.float64], NDArray[np.float64]]:
        """Take off and return what stops at each boundary, and where either part begins."""
        high = max(0, reject_at - self.lowest)
        low = min(high, max(0, accept_at + 1 - self.lowest))
        first = self.lowest, self.lowest + high
        below, above, kept = self.mass[:low], self.mass[high:], self.mass[low:high]
        alive = np.flatnonzero(kept > NEGLIGIBLE)
        if alive.size:
            self.mass = kept[alive[0] : alive[-1] + 1]
            self.lowest += low + int(alive[0])
        else:
            self.mass = kept[:0]
        return first, below, above


@lru_cache(maxsize=64)
def _steps(samples: int, rate: float) -> tuple[int, NDArray[np.float64]]:
    """The binomial law of so many samples, without its negligible ends, and where it starts."""
    from scipy.stats import (
        binom,
    )  # slow to import: only where it is needed

    # 14 standard deviations and 80 more cover all but exp(-80) of it (Bernstein's inequality).
    spread = 14 * (samples * rate * (1 - rate)) ** 0.5 + 80
    start = max(0, int(samples * rate - spread))
    stop = min(samples, int(samples * rate + spread) + 1)
    law = np.asarray(binom.pmf(np.arange(start, stop + 1), samples, rate))
    alive = np.flatnonzero(law > NEGLIGIBLE)
    return start + int(alive[0]), law[alive[0] : alive[-1] + 1]


def _looks(between: Between, horizon: int, state: _State) -> Iterator[tuple[int, int, int]]:
    """The looks at which some state may have reached a boundary by the time they come."""
    for after in range(0, horizon, STRETCH):
        bounds = between(after, min(after + STRETCH, horizon))
        start = 0
        while (index := _next_look(bounds, start, state)) is not None:
            yield (
                int(bounds.at[index]),
                int(bounds.accept_at[index]),
                int(bounds.reject_at[index]),
            )
            start = index + 1
    if state.samples < horizon:
        state.advance(horizon)


def _next_look(bounds: Boundaries, start: int, state: _State) -> int | None:
    window = 16
    while start < bounds.at.size:
        part = slice(start, start + window)
        reachable = bounds.accept_at[part] >= state.lowest
        reachable |= bounds.reject_at[part] <= state.highest + bounds.at[part] - state.samples
        first = int(np.argmax(reachable))
        if reachable[first]:
            return start + first
        start += window
        window *= 2
    return None
