"""The exact interval of a fixed number of samples: how often does it leave out the truth?"""

from __future__ import annotations

import numpy as np

from assay.analyse.binomial import clopper_pearson
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
    lower, upper = clopper_pearson(counts, samples, 1 - effort.error)
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
    )


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
