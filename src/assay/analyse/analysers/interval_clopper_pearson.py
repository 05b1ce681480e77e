"""The exact interval of a fixed number of samples: how often does it leave out the truth?"""

from __future__ import annotations

import numpy as np
from scipy.stats import binom

from assay.analyse import binomial
from assay.analyse.calibration.analyser import Analyser
from assay.analyse.calibration.known import Effort, KnownQuestion
from assay.analyse.calibration.measured import Measured

NAME = "interval-clopper-pearson"
SAMPLES = (1_000, 10_000)


def measure(question: KnownQuestion, effort: Effort) -> tuple[Measured, ...]:
    return tuple(_measured(question, effort, samples) for samples in SAMPLES)


def _measured(question: KnownQuestion, effort: Effort, samples: int) -> Measured:
    runs = max(1, effort.repeats_of(samples))
    counts = [int(question.record(run).first(samples).sum()) for run in range(runs)]
    lower, upper = binomial.clopper_pearson(counts, samples, 1 - effort.error)
    ends = zip(lower.tolist(), upper.tolist(), strict=True)
    return Measured(
        NAME,
        question.name,
        "interval misses p",
        f"n = {samples:,}",
        effort.error,
        holds=True,
        runs=runs,
        errors=sum(question.misses(low, high) for low, high in ends),
        samples=float(samples),
        most_samples=samples,
        expected_samples=float(samples),
        figures={"median width": float(np.median(upper - lower))},
        exact=_exact_error(samples, question.rate, effort.error),
    )


def _exact_error(samples: int, rate: float, error: float) -> float:
    """The probability of a count whose interval misses the rate."""
    counts = np.arange(samples + 1)
    lower, upper = binomial.clopper_pearson(counts, samples, 1 - error)
    mass = binom.pmf(counts, samples, rate)
    return float(mass[(upper < rate) | (lower > rate)].sum())


ANALYSERS = (
    Analyser(
        NAME,
        "interval",
        "the interval of n samples, n fixed beforehand, misses the rate with probability at most "
        "the error asked for",
        True,
        measure,
    ),
)
