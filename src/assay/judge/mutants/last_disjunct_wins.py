"""VeriStress-GT's appendix D: the status of the final disjunct is returned."""

from __future__ import annotations

import torch

from assay.bounds.domains import Domains
from assay.judge.power.mutant import Mutant, Setting
from assay.judge.power.seams import at_root


def _last(domains: Domains, setting: Setting) -> Domains:
    del setting
    return domains.at(torch.tensor([len(domains) - 1]))


MUTANT = Mutant(
    name="last-disjunct-wins",
    bug="one disjunct wins",
    story="Of a violation with several disjuncts, the status of the last one is the verdict.",
    swaps=(at_root(_last),),
)
