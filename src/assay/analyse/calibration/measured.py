"""What was measured of one analyser on one question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from scipy.stats import binom

from assay.analyse.binomial import clopper_pearson

CONFIDENCE = 0.99
"""Of the interval around a measured error rate."""
ROUNDING = 1e-9
"""Relative: exact errors are sums of floats, good to about 1e-12."""


@dataclass(frozen=True)
class Measured:
    """How often one analyser was wrong on one question.

    `event` says what counts as an error, `promised` how often it may happen (None: nothing is
    promised), `holds` whether a theorem stands behind that. `exact` is the probability of an error
    where it was computed, without sampling. A row that is no count of errors, but a test of a law,
    has the p-value of that test in `chance`; its `runs` are the trials or points it looked at.
    `figures` are further numbers by name. Where nothing was measured `left_out` says why.
    """

    analyser: str
    question: str
    event: str
    setting: str
    promised: float | None
    holds: bool
    runs: int = 0
    errors: int = 0
    samples: float | None = None
    most_samples: int | None = None
    expected_samples: float | None = None
    figures: Mapping[str, float | None] = field(default_factory=dict)
    left_out: str = ""
    exact: float | None = None
    chance: float | None = None

    @property
    def rate(self) -> float | None:
        return self.errors / self.runs if self.runs and self.chance is None else None

    @property
    def interval(self) -> tuple[float, float] | None:
        return None if self.chance is not None else error_interval(self.errors, self.runs)

    @property
    def exceeds(self) -> bool:
        """Whether the error, computed exactly, is above what is promised: no luck in that."""
        if self.exact is None or self.promised is None:
            return False
        return self.exact > self.promised * (1 + ROUNDING)

    @property
    def luck(self) -> float:
        """The probability of a result as bad as this or worse where the promise is just kept."""
        if self.chance is not None:
            return self.chance
        return chance_of(self.errors, self.runs, self.promised)


def error_interval(errors: int, runs: int) -> tuple[float, float] | None:
    """Clopper and Pearson's, around a measured error rate."""
    if not runs:
        return None
    lower, upper = clopper_pearson(errors, runs, CONFIDENCE)
    return float(lower), float(upper)


def chance_of(errors: int, runs: int, promised: float | None) -> float:
    if promised is None or not errors:
        return 1.0
    return float(binom.sf(errors - 1, runs, promised))
