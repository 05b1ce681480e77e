"""Both halves of a split are the lower one."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from assay.bounds.domains import Domains, Units
from assay.judge.power.mutant import Mutant, Setting, Swap


def _split(original: Any, _: Setting) -> Any:
    def split(domains: Domains, units: Units, choice: Tensor) -> Domains:
        halves: Domains = original(domains, units, choice)
        return halves.at(torch.arange(len(halves)) % len(domains))

    return split


MUTANT = Mutant(
    name="same-half-twice",
    bug="dropped domains",
    story="An index that is off makes both halves of a split the lower (inactive) one.",
    swaps=(Swap("assay.bounds.branch", "split", _split),),
)
