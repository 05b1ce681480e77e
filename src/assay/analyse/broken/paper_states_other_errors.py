"""The warning about Algorithm 1 states errors that its test does not have."""

from __future__ import annotations

from typing import Any

from scipy.stats import binom

from assay.analyse.binomial import FixedTest
from assay.analyse.calibration.broken import Broken, Bug


def _make(_original: Any) -> Any:
    def robust(test: FixedTest, rate: float) -> float:
        return float(binom.cdf(test.allowed - 1, test.samples, rate))

    return robust


BROKEN = Broken(
    "paper-states-other-errors",
    "The exact error printed beside the paper's verdict is that of one failure less.",
    ("decide-paper",),
    (Bug("assay.analyse.binomial:FixedTest", "robust", _make),),
)
