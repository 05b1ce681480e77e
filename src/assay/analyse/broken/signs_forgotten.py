"""The l_1 sampler without its signs: one of the 2^d parts of the ball has all the points."""

from __future__ import annotations

from typing import Any

from assay.analyse.calibration.broken import Broken, Bug


def _make(_original: Any) -> Any:
    def cross_polytope(source: Any, rows: int, dimension: int, radius: float) -> Any:
        drawn = source.exponential(rows, dimension + 1)
        found = drawn[:, :dimension]
        found *= radius / drawn.sum(1)[:, None]
        return found

    return cross_polytope


BROKEN = Broken(
    "signs-forgotten",
    "In l1 balls no coordinate is ever below that of the centre.",
    ("sampler",),
    (Bug("assay.analyse.sampling:_BALLS", "1", _make),),
)
