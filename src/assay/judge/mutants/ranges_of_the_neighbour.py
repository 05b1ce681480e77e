"""Ranges of hidden units end up with the wrong domain."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from assay.bounds.domains import Domains, Units
from assay.judge.power.mutant import Mutant, Setting, Swap
from assay.judge.power.seams import with_ranges


def _split(original: Any, _: Setting) -> Any:
    def split(domains: Domains, units: Units, choice: Tensor) -> Domains:
        halves: Domains = original(domains, units, choice)
        row = torch.arange(len(halves))
        # Half of domain i sits at i or count + i; the ranges are those of domain i - 1's half.
        before = row - 1 + len(domains) * (row % len(domains) == 0)
        return with_ranges(halves, lambda low, high: (low[before], high[before]))

    return split


MUTANT = Mutant(
    name="ranges-of-the-neighbour",
    bug="shrunk or stale bounds",
    story="After a split every domain is given the unit ranges of its neighbour in the batch.",
    swaps=(Swap("assay.bounds.branch", "split", _split),),
)
