"""The weights of a mixture add up to two: evidence counts double, and Ville's bound is void."""

from __future__ import annotations

import math
from typing import Any

from assay.analyse.calibration.broken import Broken, Bug


def _make(original: Any) -> Any:
    return property(lambda evidence: original.func(evidence) + math.log(2))


BROKEN = Broken(
    "evidence-counted-twice",
    "The weights of the mixture of likelihood ratios add up to 2.",
    ("decide-confidence-sequence", "interval-sequence"),
    (Bug("assay.analyse.evidence:Evidence", "_log_weights", _make),),
)
