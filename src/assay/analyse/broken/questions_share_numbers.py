"""All questions have the same random numbers, so that their errors come together."""

from __future__ import annotations

from typing import Any

from assay.analyse.calibration.broken import Broken, Bug


def _make(original: Any) -> Any:
    return lambda seed, purpose, *_region: original(seed, purpose)


BROKEN = Broken(
    "questions-share-numbers",
    "The seed is not mixed with the region: every question has the same random numbers.",
    ("sampler",),
    (Bug("assay.analyse.sampling", "stream_key", _make),),
)
