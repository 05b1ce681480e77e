"""The interval beside a verdict is Clopper and Pearson's, as if its samples had been fixed."""

from __future__ import annotations

from typing import Any

from assay.analyse.binomial import clopper_pearson
from assay.analyse.calibration.broken import Broken, Bug
from assay.analyse.decision import Rule


def _make(_original: Any) -> Any:
    def interval(rule: Rule, samples: Any, failures: Any) -> Any:
        return clopper_pearson(failures, samples, 1 - rule.interval_error)

    return interval


BROKEN = Broken(
    "interval-as-if-n-were-fixed",
    "The interval printed at the stop is Clopper and Pearson's, which needs a fixed n.",
    ("decide-confidence-sequence", "decide-sprt"),
    (Bug("assay.analyse.decision:Rule", "interval", _make),),
)
