"""The halves of an input do not meet."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from assay.bounds.domains import Domains, Units
from assay.judge.power.mutant import Mutant, Setting, Swap


def _split(original: Any, setting: Setting) -> Any:
    def split(domains: Domains, units: Units, choice: Tensor) -> Domains:
        halves: Domains = original(domains, units, choice)
        rows = (choice.repeat(2) < 0).nonzero().flatten()
        inputs = -1 - choice.repeat(2)[rows]
        upper = rows >= len(domains)
        lower_ends, upper_ends = halves.lower.clone(), halves.upper.clone()
        gap = setting.strength * (upper_ends[rows, inputs] - lower_ends[rows, inputs])
        lower_ends[rows, inputs] += torch.where(upper, gap, 0.0)
        upper_ends[rows, inputs] -= torch.where(upper, 0.0, gap)
        return replace(halves, lower=lower_ends, upper=upper_ends)

    return split


MUTANT = Mutant(
    name="gap-between-halves",
    bug="dropped domains",
    story="Halving an input leaves out a slice on either side of the middle, "
    "the strength times the half.",
    swaps=(Swap("assay.bounds.branch", "split", _split),),
    strength=0.05,
)
