"""Inputs that fail by little are counted as kept."""

from __future__ import annotations

from typing import Any

from assay.analyse.calibration.broken import Broken, Bug

TOLERANCE = 0.25


def _make(original: Any) -> Any:
    return lambda trials, count: original(trials, count) + TOLERANCE


BROKEN = Broken(
    "narrow-failures-forgiven",
    "Inputs whose margin is not below -0.25 count as kept.",
    ("sampler",),
    (Bug("assay.analyse.trials:Trials", "margins", _make),),
)
