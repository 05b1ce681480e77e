"""A question whose failure rate is proven, and the random trials that all analysers share."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from assay.analyse.asked import Asked, of_case
from assay.analyse.trials import Trials
from assay.errors import BadInput
from assay.question.network import Network
from assay.question.property import Case

MOST_TRIALS_AT_ONCE = 65_536


@dataclass(frozen=True)
class Effort:
    """How much is spent on one analyser and one question.

    `repeats` independent runs, fewer where they would take more than `samples` samples together;
    `error` is the error probability that every analyser with a promise is asked to keep.
    """

    repeats: int = 400
    samples: int = 8_000_000
    error: float = 0.01
    seed: int = 0

    def __post_init__(self) -> None:
        if self.repeats < 1:
            raise BadInput(f"--repeats {self.repeats} measures nothing; give at least 1")
        if self.samples < 1:
            raise BadInput(f"--samples-budget {self.samples} buys nothing; give at least 1")
        if not 0 < self.error < 0.5:
            raise BadInput(f"--error {self.error:g} is no error probability below 1/2; try 0.01")

    def repeats_of(self, samples: float) -> int:
        """How many repeats of so many samples the budget allows."""
        return min(self.repeats, int(self.samples / max(samples, 1)))


class FailureRecord:
    """Which trials of one stream failed, drawn as far as somebody has asked."""

    def __init__(self, asked: Asked, seed: int, purpose: str) -> None:
        self._trials = Trials(asked, seed, purpose)
        self._parts: list[NDArray[np.bool_]] = []

    def first(self, count: int) -> NDArray[np.bool_]:
        """Whether the first `count` trials failed."""
        while (missing := count - self._trials.drawn) > 0:
            batch = min(missing, MOST_TRIALS_AT_ONCE)
            self._parts.append(self._trials.failed(batch))
        if len(self._parts) > 1:
            self._parts = [np.concatenate(self._parts)]
        return self._parts[0][:count] if self._parts else np.empty(0, np.bool_)


class Replay:
    """A record as a stream of trials for `weakened.decide.decide_stream`."""

    rows = MOST_TRIALS_AT_ONCE
    seconds = 0.0

    def __init__(self, record: FailureRecord) -> None:
        self._record = record
        self.drawn = 0

    def failed(self, count: int) -> NDArray[np.bool_]:
        before, self.drawn = self.drawn, self.drawn + count
        return self._record.first(self.drawn)[before:]


@dataclass(frozen=True, eq=False)
class KnownQuestion:
    """A question and the two ends between which its failure rate is proven to lie."""

    name: str
    kind: str
    network: Network
    case: Case
    lower: Fraction
    upper: Fraction
    seed: int = 0
    _records: dict[int, FailureRecord] = field(default_factory=dict)

    @cached_property
    def asked(self) -> Asked:
        return of_case(self.network, self.case)

    def __post_init__(self) -> None:
        if not 0 < self.lower <= self.upper < 1:
            raise BadInput(
                f"{self.name}: a failure rate from {float(self.lower):g} to {float(self.upper):g} "
                "is not one above 0 and below 1; rebuild the benchmark"
            )

    @property
    def rate(self) -> float:
        """The middle of the two ends."""
        return float((self.lower + self.upper) / 2)

    @property
    def at_most(self) -> float:
        """A float that the rate is not below."""
        found = float(self.lower)
        return found if Fraction(found) <= self.lower else math.nextafter(found, 0)

    @property
    def at_least(self) -> float:
        """A float that the rate is not above."""
        found = float(self.upper)
        return found if Fraction(found) >= self.upper else math.nextafter(found, 1)

    @property
    def dimension(self) -> int:
        return self.asked.region.dimension

    def misses(self, lower: float, upper: float) -> bool:
        """Whether an interval leaves out every rate that is possible."""
        return Fraction(upper) < self.lower or Fraction(lower) > self.upper

    def record(self, repeat: int) -> FailureRecord:
        """The trials of one repeat: the same for every analyser, independent of all others."""
        if repeat not in self._records:
            purpose = f"calibration {repeat}"
            self._records[repeat] = FailureRecord(self.asked, self.seed, purpose)
        return self._records[repeat]
