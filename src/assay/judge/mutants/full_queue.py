"""A queue with room for so many domains."""

from __future__ import annotations

import math
from dataclasses import replace

import torch

from assay.bounds.branch import Search
from assay.bounds.domains import Domains
from assay.judge.power.mutant import Mutant, Setting
from assay.judge.power.seams import when_bounded

_ROOM = 16


def _turned_away(search: Search, domains: Domains, setting: Setting) -> Domains:
    del setting
    room = max(0, _ROOM - sum(map(len, search.waiting)))
    late = torch.arange(len(domains)) >= room
    return replace(domains, bound=torch.where(late, math.inf, domains.bound))


MUTANT = Mutant(
    name="full-queue",
    bug="dropped domains",
    story=f"The queue has room for {_ROOM} domains and turns new ones away when it is full.",
    swaps=(when_bounded(_turned_away, root=False),),
)
