"""Every purpose has the same random numbers: repeats are no repeats."""

from __future__ import annotations

from typing import Any

from assay.analyse.calibration.broken import Broken, Bug


def _make(original: Any) -> Any:
    return lambda seed, _purpose, *region: original(seed, *region)


BROKEN = Broken(
    "purpose-ignored",
    "The random numbers of a region are the same for every purpose and repeat.",
    ("sampler",),
    (Bug("assay.analyse.sampling", "stream_key", _make),),
)
