"""The textbook's normal approximation in the place of the exact interval."""

from __future__ import annotations

from statistics import NormalDist
from typing import Any

import numpy as np

from assay.analyse.calibration.broken import Broken, Bug


def _make(_original: Any) -> Any:
    def clopper_pearson(failures: Any, samples: Any, confidence: float) -> Any:
        rate = np.asarray(failures, np.float64) / np.asarray(samples, np.float64)
        reach = NormalDist().inv_cdf((1 + confidence) / 2) * np.sqrt(rate * (1 - rate) / samples)
        return np.maximum(rate - reach, 0.0), np.minimum(rate + reach, 1.0)

    return clopper_pearson


BROKEN = Broken(
    "normal-interval",
    "The exact interval is replaced by the normal approximation p ± z sqrt(p (1 - p) / n).",
    ("interval-clopper-pearson", "roma"),
    (
        Bug("assay.analyse.binomial", "clopper_pearson", _make),
        Bug("assay.analyse.roma_counted", "clopper_pearson", _make),
    ),
)
