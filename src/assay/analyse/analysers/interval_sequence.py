"""The confidence sequence: how often does it leave out the truth at any time at all?

Whoever may stop when he likes can stop when the interval is wrong, if it ever is; so a run is an
error if one of its intervals, after any of the samples looked at, misses the rate.
"""

from __future__ import annotations

import numpy as np

from assay.analyse.boundaries import Boundaries, looks
from assay.analyse.calibration.analyser import Analyser
from assay.analyse.calibration.known import Effort, KnownQuestion
from assay.analyse.calibration.measured import Measured
from assay.analyse.sequential import ConfidenceSequence
from assay.analyse.stopping import operation

NAME = "interval-sequence"
SAMPLES = 10_000


def measure(question: KnownQuestion, effort: Effort) -> tuple[Measured, ...]:
    sequence = ConfidenceSequence(effort.error / 2, effort.error / 2)
    runs = max(1, effort.repeats_of(SAMPLES))
    paths = np.stack([np.cumsum(question.record(run).first(SAMPLES)) for run in range(runs)])
    at = looks(0, SAMPLES)
    bounds = sequence.excluding(question.at_least, question.at_most, at)
    seen = paths[:, at - 1]
    # above the interval where even the highest possible rate is, below it likewise
    wrong = ((seen <= bounds.accept_at) | (seen >= bounds.reject_at)).any(1)
    lower, upper = sequence.interval(np.full(runs, SAMPLES), paths[:, -1])
    return (
        Measured(
            NAME,
            question.name,
            "interval ever misses p",
            f"n = 1 … {SAMPLES:,}",
            effort.error,
            holds=True,
            runs=runs,
            errors=int(wrong.sum()),
            samples=float(SAMPLES),
            most_samples=SAMPLES,
            expected_samples=float(SAMPLES),
            figures={"median width": float(np.median(upper - lower))},
            exact=_exact_error(sequence, question.rate),
        ),
    )


def _exact_error(sequence: ConfidenceSequence, rate: float) -> float:
    """The probability that the rate is ever excluded: a rule that stops when it is."""

    def between(after: int, upto: int) -> Boundaries:
        return sequence.excluding(rate, rate, looks(after, upto))

    found = operation(between, rate, SAMPLES)
    return found.robust + found.not_robust


ANALYSERS = (
    Analyser(
        NAME,
        "interval",
        "the intervals after all numbers of samples together miss the rate with probability at "
        "most the error asked for, so one may stop at any time",
        True,
        measure,
    ),
)
