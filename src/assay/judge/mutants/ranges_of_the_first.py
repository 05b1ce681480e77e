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
        # First come all lower halves, then all upper ones.
        first = torch.arange(len(halves)) // len(domains) * len(domains)
        return with_ranges(halves, lambda low, high: (low[first], high[first]))

    return split


MUTANT = Mutant(
    name="ranges-of-the-first",
    bug="shrunk or stale bounds",
    story="After a split every domain is given the unit ranges of the first one in its batch.",
    swaps=(Swap("assay.bounds.branch", "split", _split),),
)
