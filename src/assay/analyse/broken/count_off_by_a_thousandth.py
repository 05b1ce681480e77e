"""Proved bounds that are a thousandth too high."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

from assay.analyse.calibration.broken import Broken, Bug

TIMES = Fraction(1001, 1000)


def _make(original: Any) -> Any:
    def count(*args: Any, **options: Any) -> Any:
        found = original(*args, **options)
        return replace(found, lower=found.lower * TIMES, upper=found.upper * TIMES)

    return count


BROKEN = Broken(
    "count-off-by-a-thousandth",
    "Both bounds of a count are too high by 0.1 %.",
    ("count",),
    (Bug("assay.analyse.count.counting", "count", _make),),
)
