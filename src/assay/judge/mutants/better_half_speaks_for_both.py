"""A bound that was once reached by a sibling is inherited."""

from __future__ import annotations

from dataclasses import replace

import torch

from assay.bounds.branch import Search
from assay.bounds.domains import Domains
from assay.judge.power.mutant import Mutant, Setting
from assay.judge.power.seams import when_bounded


def _inherited(_: Search, domains: Domains, setting: Setting) -> Domains:
    del setting
    count = len(domains) // 2
    better = torch.maximum(domains.bound[:count], domains.bound[count:])
    return replace(domains, bound=better.repeat(2))


MUTANT = Mutant(
    name="better-half-speaks-for-both",
    bug="shrunk or stale bounds",
    story="A cached bound makes both halves of a split carry the better of their two bounds.",
    swaps=(when_bounded(_inherited, root=False),),
)
