"""What was measured of one analyser on one question, and whether luck explains it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from scipy.stats import binom

from assay.analyse.binomial import clopper_pearson

CONFIDENCE = 0.99
"""Of the interval around a measured error rate."""
LEVEL = 1e-6
"""A kept promise is called broken with at most this probability, over all tests together."""


@dataclass(frozen=True)
class Measured:
    """How often one analyser was wrong on one question.

    `event` says what counts as an error, `promised` how often it may happen (None: nothing is
    promised), `holds` whether a theorem stands behind that. `figures` are further numbers by name.
    Where nothing was measured `left_out` says why.
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

    @property
    def rate(self) -> float | None:
        return self.errors / self.runs if self.runs else None

    @property
    def interval(self) -> tuple[float, float] | None:
        return error_interval(self.errors, self.runs)

    @property
    def luck(self) -> float:
        """The probability of so many errors or more where the promise is just kept."""
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


def contradicted(rows: Sequence[Measured]) -> list[Measured]:
    """The rows whose promise luck does not explain: Bonferroni's inequality over all of them."""
    tested = [row for row in rows if row.promised is not None and row.runs]
    return [row for row in tested if row.luck < LEVEL / len(tested)]
