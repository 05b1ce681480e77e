"""Levels by rounding to the nearest: those at the ends get half of what they should."""

from __future__ import annotations

from typing import Any

import numpy as np

from assay.analyse.calibration.broken import Broken, Bug


def _make(original: Any) -> Any:
    def levels(placing: Any, ball: Any) -> None:
        original(placing, ball)
        first, last = ball.grid()
        low = ball.valid[0]

        def place(drawn: Any) -> tuple[Any, Any]:
            return (np.rint(drawn * (last - first)) + first) * ball.step + low, None

        placing._place = place

    return levels


BROKEN = Broken(
    "levels-rounded",
    "Levels are rounded to the nearest, which halves the share of the outer ones.",
    ("sampler",),
    (Bug("assay.analyse.placing:Placing", "_levels", _make),),
)
