"""OR read as AND once bounds are known."""

from __future__ import annotations

from dataclasses import replace

import torch

from assay.bounds.branch import Search
from assay.bounds.domains import Domains
from assay.judge.power.mutant import Mutant, Setting
from assay.judge.power.seams import when_bounded


def _closed(_: Search, domains: Domains, setting: Setting) -> Domains:
    del setting
    best = domains.bound.max()
    return replace(domains, bound=torch.maximum(domains.bound, best))


MUTANT = Mutant(
    name="any-disjunct-closes-all",
    bug="one disjunct wins",
    story="When the first bounds exclude one disjunct, the whole violation counts as excluded.",
    swaps=(when_bounded(_closed, root=True),),
)
