"""A decision rule, and a decision under way: failures in, a verdict out as soon as there is one."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.analyse.boundaries import Between
from assay.analyse.promise import Promise
from assay.analyse.sequential import ConfidenceSequence

# How far ahead the search for the soonest possible verdict looks at first, and how far in all.
AHEAD, FAR_AHEAD = 4_096, 1 << 20


class Verdict(StrEnum):
    ROBUST = "robust"
    NOT_ROBUST = "not robust"


@dataclass(frozen=True, eq=False)
class Rule:
    """When to stop sampling and what to say then; `between` alone decides.

    `theorem` says in one sentence why the promise holds, or that it does not (`holds`). `last` is
    the most samples it ever takes. `sequence` gives intervals of the rate that hold whenever one
    stops.
    """

    name: str
    promise: Promise
    theorem: str
    holds: bool
    last: int
    sequence: ConfidenceSequence
    between: Between
    exact_errors: tuple[float, float] | None = None
    """Where `theorem` states them: the exact errors of type I at eps' and of type II at eps."""

    def interval(
        self, samples: ArrayLike, failures: ArrayLike
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Bounds of the failure rate, valid at any stopping time, for each pair of counts."""
        return self.sequence.interval(samples, failures)

    @property
    def interval_error(self) -> float:
        """The probability with which such an interval may miss the rate."""
        return self.promise.alpha + self.promise.beta


@dataclass
class Decision:
    """One run of a rule: where it stops does not depend on how the samples are cut into batches."""

    rule: Rule
    samples: int = field(default=0, init=False)
    failures: int = field(default=0, init=False)
    verdict: Verdict | None = field(default=None, init=False)

    def feed(self, failed: NDArray[np.bool_]) -> Verdict | None:
        """Take the next samples in order; those after the verdict are not counted."""
        if self.verdict is not None or failed.size == 0:
            return self.verdict
        bounds = self.rule.between(self.samples, self.samples + failed.size)
        failures = self.failures + np.cumsum(failed, dtype=np.int64)
        seen = failures[bounds.at - self.samples - 1]
        rejected = seen >= bounds.reject_at
        decided = rejected | (seen <= bounds.accept_at)
        if not decided.any():
            self.samples += failed.size
            self.failures = int(failures[-1])
            return None
        stop = int(np.argmax(decided))
        self.samples, self.failures = int(bounds.at[stop]), int(seen[stop])
        self.verdict = Verdict.NOT_ROBUST if rejected[stop] else Verdict.ROBUST
        return self.verdict

    def soonest(self) -> int:
        """No fewer further samples can bring a verdict; with so many one is possible.

        Where none is possible within about a million it says only that; 0 after the verdict.
        """
        if self.verdict is not None:
            return 0
        ahead = AHEAD
        while True:
            bounds = self.rule.between(self.samples, self.samples + ahead)
            further = bounds.at - self.samples
            possible = bounds.accept_at >= self.failures
            possible |= bounds.reject_at <= self.failures + further
            if possible.any():
                return int(further[np.argmax(possible)])
            if ahead >= FAR_AHEAD:
                return ahead
            ahead *= 4

    def interval(self) -> tuple[float, float]:
        """Bounds of the failure rate that hold although the number of samples was not fixed."""
        lower, upper = self.rule.interval(self.samples, self.failures)
        return float(lower), float(upper)
