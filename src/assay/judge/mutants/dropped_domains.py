"""SoundnessBench's beta: a share of all new domains is lost."""

from __future__ import annotations

import math
from dataclasses import replace

import torch

from assay.bounds.branch import Search
from assay.bounds.domains import Domains
from assay.judge.power.mutant import Mutant, Setting
from assay.judge.power.seams import when_bounded


def _dropped(_: Search, domains: Domains, setting: Setting) -> Domains:
    lost = [setting.dice.random() < setting.strength for _ in range(len(domains))]
    bound = torch.where(torch.tensor(lost), math.inf, domains.bound)
    return replace(domains, bound=bound)


MUTANT = Mutant(
    name="dropped-domains",
    bug="dropped domains",
    story="Each new domain of branch and bound is lost with a probability of the strength.",
    swaps=(when_bounded(_dropped, root=False),),
    strength=0.02,
    symbol="beta",
)
