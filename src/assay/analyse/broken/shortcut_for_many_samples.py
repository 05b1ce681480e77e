"""A shortcut in long decisions: from some thousand samples on the interval is that of a fixed n."""

from __future__ import annotations

from typing import Any

import numpy as np

from assay.analyse.binomial import clopper_pearson
from assay.analyse.calibration.broken import Broken, Bug
from assay.analyse.decision import Rule

MANY = 4_096


def _make(original: Any) -> Any:
    def interval(rule: Rule, samples: Any, failures: Any) -> Any:
        right = original(rule, samples, failures)
        short = clopper_pearson(failures, samples, 1 - rule.interval_error)
        many = np.asarray(samples) > MANY
        return tuple(np.where(many, s, r) for s, r in zip(short, right, strict=True))

    return interval


BROKEN = Broken(
    "shortcut-for-many-samples",
    "Beyond 4,096 samples the interval printed at the stop is Clopper and Pearson's.",
    ("decide-confidence-sequence",),
    (Bug("assay.analyse.decision:Rule", "interval", _make),),
)
