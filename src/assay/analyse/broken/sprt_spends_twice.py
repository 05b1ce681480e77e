"""SPRT with doubled errors: what is spent before the end is not nine tenths but twice that."""

from __future__ import annotations

from typing import Any

from assay.analyse.calibration.broken import Broken, Bug


def _make(original: Any) -> Any:
    return lambda promise, share: original(promise, share if share < 0.5 else 2 * share)


BROKEN = Broken(
    "sprt-spends-twice",
    "SPRT stops at twice the error that it was given.",
    ("decide-sprt",),
    (Bug("assay.analyse.rules.sprt", "_with_errors", _make),),
)
