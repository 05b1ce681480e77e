"""A box that is sampled one per cent too narrow, from its lower corner."""

from __future__ import annotations

from typing import Any

from assay.analyse.calibration.broken import Broken, Bug


def _make(original: Any) -> Any:
    def box(placing: Any, lower: Any, upper: Any) -> None:
        original(placing, lower, lower + 0.99 * (upper - lower))

    return box


BROKEN = Broken(
    "box-too-small",
    "Random inputs leave out the last hundredth of every side of a box.",
    ("sampler",),
    (Bug("assay.analyse.placing:Placing", "_box", _make),),
)
