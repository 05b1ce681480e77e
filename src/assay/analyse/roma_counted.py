"""RoMA's number beside a count of the same random inputs, whose interval holds; it decides."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assay.analyse.asked import Asked
from assay.analyse.binomial import clopper_pearson
from assay.analyse.decision import Verdict
from assay.analyse.mean_rate import LEAST_CONFIDENCE
from assay.analyse.roma import Extrapolation, extrapolated
from assay.analyse.roma_scores import Score, Scored, scored
from assay.errors import BadInput

PURPOSE = "roma"


@dataclass(frozen=True)
class RomaSettings:
    """`confidence` is that of the interval, `significance` that of the tests of normality."""

    samples: int = 1000
    score: Score = "margin"
    confidence: float = 0.99
    significance: float = 0.05
    eps: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if self.samples < 1:
            raise BadInput(f"--samples {self.samples} shows nothing; give at least 1")
        if not LEAST_CONFIDENCE <= self.confidence < 1:
            raise BadInput(
                f"--confidence {self.confidence:g} is not from {LEAST_CONFIDENCE:g} to below 1; "
                "try 0.99"
            )
        if not 0 < self.significance < 1:
            raise BadInput(
                f"--significance {self.significance:g} is not above 0 and below 1; try 0.05"
            )
        if self.eps is not None and not 0 < self.eps < 1:
            raise BadInput(f"--eps {self.eps:g} is no failure rate; give one above 0 and below 1")


@dataclass(frozen=True)
class RateInterval:
    """Failures of trials, and an interval of the (mean) failure rate that holds."""

    failures: int
    trials: int
    lower: float
    upper: float

    @property
    def rate(self) -> float:
        return self.failures / self.trials

    def covers(self, rate: float) -> bool:
        return self.lower <= rate <= self.upper

    def verdict(self, eps: float) -> Verdict | None:
        """Whether the rate is below eps; nothing if the interval does not tell."""
        if self.upper < eps:
            return Verdict.ROBUST
        return Verdict.NOT_ROBUST if self.lower >= eps else None


@dataclass(frozen=True)
class ScoreMoments:
    mean: float
    deviation: float
    skewness: float | None
    lowest: float
    highest: float


@dataclass(frozen=True)
class RomaCounted:
    """What is said about one region."""

    extrapolation: Extrapolation
    counted: RateInterval
    moments: ScoreMoments
    threshold: float
    reached: int
    softmax: bool

    @property
    def failure_rate(self) -> float:
        """RoMA's, or the counted one in its stead."""
        found = self.extrapolation.failure_rate
        return self.counted.rate if found is None else found

    @property
    def disagrees(self) -> bool:
        """Whether RoMA's number lies outside the interval that holds."""
        return not self.counted.covers(self.failure_rate)

    @property
    def unconfirmed(self) -> bool:
        """Whether RoMA claims failures that are too rare for the samples to meet even one."""
        claimed = self.extrapolation.failure_rate
        return claimed is not None and claimed * self.counted.trials < 1 > self.counted.failures


def assess(asked: Asked, settings: RomaSettings, number: int = 0) -> RomaCounted:
    """`number` tells inputs of a data set apart: also equal ones have random numbers of their own,
    without which pooled counts would not be independent."""
    purpose = f"{PURPOSE} {number}"
    found = scored(asked, settings.score, settings.samples, settings.seed, purpose)
    return RomaCounted(
        extrapolated(
            found.scores, found.threshold, significance=settings.significance, floor=found.floor
        ),
        counted_interval(found.failures, settings.samples, settings.confidence),
        _moments(found),
        found.threshold,
        found.reached,
        found.softmax,
    )


def counted_interval(failures: int, samples: int, confidence: float) -> RateInterval:
    """What so many failures say about the rate."""
    lower, upper = clopper_pearson(failures, samples, confidence)
    return RateInterval(failures, samples, float(lower), float(upper))


def _moments(found: Scored) -> ScoreMoments:
    scores = found.scores
    with np.errstate(invalid="ignore"):  # infinite scores have none, and that is said
        mean, deviation = float(scores.mean()), float(scores.std(ddof=len(scores) > 1))
        cubes = float(((scores - mean) ** 3).mean())
    skewness = cubes / deviation**3 if 0 < deviation < np.inf else None
    return ScoreMoments(mean, deviation, skewness, float(scores.min()), float(scores.max()))
