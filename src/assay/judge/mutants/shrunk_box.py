"""SoundnessBench's alpha, input bounds."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from assay.judge.power.mutant import Mutant, Setting, Swap
from assay.question.region import Box


def _enclosing(original: Any, setting: Setting) -> Any:
    def shrunk(box: Box) -> tuple[Tensor, Tensor]:
        low, high = original(box)
        shift = setting.strength * 0.5 * (high - low)
        return low + shift, high - shift

    return shrunk


MUTANT = Mutant(
    name="shrunk-box",
    bug="shrunk or stale bounds",
    story="The box that is searched is shrunk towards its middle by the strength.",
    swaps=(Swap("assay.bounds.branch", "enclosing_box", _enclosing),),
    strength=0.02,
)
