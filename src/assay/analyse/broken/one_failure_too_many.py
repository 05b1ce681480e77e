"""Off by one: the fixed test allows one failure more than it was made for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from assay.analyse.calibration.broken import Broken, Bug


def _make(original: Any) -> Any:
    return lambda test: original(replace(test, allowed=test.allowed + 1))


BROKEN = Broken(
    "one-failure-too-many",
    "The fixed binomial test accepts one failure more than its theorem allows.",
    ("decide-binomial",),
    (Bug("assay.analyse.rules.binomial", "curtailed", _make),),
)
