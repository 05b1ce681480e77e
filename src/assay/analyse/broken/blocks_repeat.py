"""Blocks of random numbers repeat: block k has the seed of block k modulo 4."""

from __future__ import annotations

from typing import Any

from assay.analyse.calibration.broken import Broken, Bug


def _make(original: Any) -> Any:
    return lambda key, block, wide, device: original(key, block % 4, wide, device)


BROKEN = Broken(
    "blocks-repeat",
    "Block k of the random numbers is block k modulo 4 again.",
    ("sampler",),
    (Bug("assay.analyse.sampling", "block_source", _make),),
)
