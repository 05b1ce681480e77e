"""Only the first disjunct is read."""

from __future__ import annotations

import torch

from assay.bounds.domains import Domains
from assay.judge.power.mutant import Mutant, Setting
from assay.judge.power.seams import at_root


def _first(domains: Domains, setting: Setting) -> Domains:
    del setting
    return domains.at(torch.tensor([0]))


MUTANT = Mutant(
    name="first-disjunct-wins",
    bug="one disjunct wins",
    story="Of a violation with several disjuncts only the first is examined.",
    swaps=(at_root(_first),),
)
