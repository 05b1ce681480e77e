"""The l_2 sampler without the root: distances uniform, so that points crowd at the centre."""

from __future__ import annotations

from typing import Any

from assay.analyse.calibration.broken import Broken, Bug


def _make(_original: Any) -> Any:
    def round_ball(source: Any, rows: int, dimension: int, radius: float) -> Any:
        found = source.normal(rows, dimension)
        found *= radius * source.uniform(rows, 1) / source.lengths(found)
        return found

    return round_ball


BROKEN = Broken(
    "ball-without-the-power",
    "In l2 balls the distance is U, not U^(1/d).",
    ("sampler",),
    (Bug("assay.analyse.sampling:_BALLS", "2", _make),),
)
