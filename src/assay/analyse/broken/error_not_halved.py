"""A two-sided interval whose error is not divided between its sides."""

from __future__ import annotations

from typing import Any

from assay.analyse.calibration.broken import Broken, Bug


def _make(original: Any) -> Any:
    def clopper_pearson(failures: Any, samples: Any, confidence: float) -> Any:
        return original(failures, samples, 1 - 2 * (1 - confidence))

    return clopper_pearson


BROKEN = Broken(
    "error-not-halved",
    "Clopper and Pearson's interval gives each of its two sides the whole error.",
    ("interval-clopper-pearson",),
    (Bug("assay.analyse.binomial", "clopper_pearson", _make),),
)
