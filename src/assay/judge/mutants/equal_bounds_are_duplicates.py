"""Domains are recognised by their bounds."""

from __future__ import annotations

import math
from dataclasses import replace

import torch

from assay.bounds.branch import Search
from assay.bounds.domains import Domains
from assay.judge.power.mutant import Mutant, Setting
from assay.judge.power.seams import when_bounded


def _deduplicated(_: Search, domains: Domains, setting: Setting) -> Domains:
    del setting
    seen: set[float] = set()
    repeated = []
    for value in domains.bound.tolist():
        repeated.append(value in seen)
        seen.add(value)
    return replace(domains, bound=torch.where(torch.tensor(repeated), math.inf, domains.bound))


MUTANT = Mutant(
    name="equal-bounds-are-duplicates",
    bug="dropped domains",
    story="Of new domains with the same bound all but one are thrown away as duplicates.",
    swaps=(when_bounded(_deduplicated, root=False),),
)
