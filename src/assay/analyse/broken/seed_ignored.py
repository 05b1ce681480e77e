"""Another seed gives the same numbers."""

from __future__ import annotations

from typing import Any

from assay.analyse.calibration.broken import Broken, Bug


def _make(original: Any) -> Any:
    return lambda _seed, *others: original(*others)


BROKEN = Broken(
    "seed-ignored",
    "Every seed gives the same random numbers.",
    ("sampler",),
    (Bug("assay.analyse.sampling", "stream_key", _make),),
)
