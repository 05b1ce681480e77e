"""Multipliers of split conditions meet the wrong end of the range."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from assay.bounds.rounding import Interval
from assay.judge.power.mutant import Mutant, Setting, Swap


def _pushed(original: Any, _: Setting) -> Any:
    def pushed(up: Tensor, down: Tensor, x: Interval, nodes: int) -> Any:
        return original(up, down, Interval(x.low * 0.5 + x.high * 0.5, x.high), nodes)

    return pushed


MUTANT = Mutant(
    name="multiplier-meets-the-middle",
    bug="relaxation",
    story="Multipliers of lower ends are paid with the middle of a range instead of its end.",
    swaps=(Swap("assay.bounds.relaxed_network", "pushed", _pushed),),
)
