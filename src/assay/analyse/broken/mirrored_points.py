"""Antithetic numbers: every second half mirrors the first, so that trials are not independent."""

from __future__ import annotations

from typing import Any

from assay.analyse.calibration.broken import Broken, Bug


def _make(original: Any) -> Any:
    def uniform(source: Any, rows: int, columns: int) -> Any:
        found = original(source, rows, columns)
        half = rows // 2
        found[half : 2 * half] = 1 - found[:half]
        return found

    return uniform


BROKEN = Broken(
    "mirrored-points",
    "Half of the random inputs mirror the other half.",
    ("sampler",),
    (Bug("assay.analyse.randomness:ProcessorSource", "uniform", _make),),
)
