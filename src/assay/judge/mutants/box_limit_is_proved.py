"""Giving up looks like being done."""

from __future__ import annotations

import math
from dataclasses import replace

import torch

from assay.bounds.branch import Search
from assay.bounds.domains import Domains
from assay.judge.power.mutant import Mutant, Setting
from assay.judge.power.seams import when_bounded

_MOST_BOXES = 100
_BATCH = 32


def _given_up(search: Search, domains: Domains, setting: Setting) -> Domains:
    del setting
    if search.boxes < _MOST_BOXES or sum(map(len, search.waiting)) > _BATCH:
        return domains
    search.waiting.clear()
    return replace(domains, bound=torch.full_like(domains.bound, math.inf))


MUTANT = Mutant(
    name="box-limit-is-proved",
    bug="timeout or crash",
    story=f"The search gives up after {_MOST_BOXES} boxes; what is left, if no more than a batch "
    f"of {_BATCH}, counts as done.",
    swaps=(when_bounded(_given_up, root=False),),
)
