"""An error in a batch is swallowed along with the batch."""

from __future__ import annotations

import math
from dataclasses import replace

import torch

from assay.bounds.branch import Search
from assay.bounds.domains import Domains
from assay.judge.power.mutant import Mutant, Setting
from assay.judge.power.seams import when_bounded

_ROOM = 32


def _skipped(_: Search, domains: Domains, setting: Setting) -> Domains:
    del setting
    if len(domains) <= _ROOM:
        return domains
    return replace(domains, bound=torch.full_like(domains.bound, math.inf))


MUTANT = Mutant(
    name="large-batch-is-skipped",
    bug="timeout or crash",
    story=f"A batch of more than {_ROOM} domains runs out of memory; the error is caught and the "
    "batch forgotten.",
    swaps=(when_bounded(_skipped, root=False),),
)
