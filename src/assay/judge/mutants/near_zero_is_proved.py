"""A bound that is almost positive counts as positive."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from assay.bounds.inequalities import Excesses
from assay.judge.power.mutant import Mutant, Setting, Swap


def _floors(original: Any, setting: Setting) -> Any:
    def floors(excesses: Excesses, bounds: Tensor, disjuncts: Tensor, sizes: Tensor) -> Tensor:
        found: Tensor = original(excesses, bounds, disjuncts, sizes)
        return found + setting.strength * sizes.amax(1)

    return floors


MUTANT = Mutant(
    name="near-zero-is-proved",
    bug="tolerance",
    story="A domain is closed when its bound misses zero by less than the strength times "
    "the largest output.",
    swaps=(Swap("assay.bounds.inequalities:Excesses", "floors", _floors),),
    strength=0.001,
)
