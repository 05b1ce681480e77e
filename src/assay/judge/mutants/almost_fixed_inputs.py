"""Presolve fixes inputs that hardly matter."""

from __future__ import annotations

from dataclasses import replace

import torch

from assay.bounds.branch import Search
from assay.bounds.domains import Domains
from assay.judge.power.mutant import Mutant, Setting
from assay.judge.power.seams import before_bounds


def _fixed(search: Search, domains: Domains, setting: Setting) -> Domains:
    width = domains.upper - domains.lower
    whole = (search.box.high - search.box.low).flatten()
    narrow = width < setting.strength * whole
    middle = domains.lower * 0.5 + domains.upper * 0.5
    return replace(
        domains,
        lower=torch.where(narrow, middle, domains.lower),
        upper=torch.where(narrow, middle, domains.upper),
    )


MUTANT = Mutant(
    name="almost-fixed-inputs",
    bug="almost fixed",
    story="An input halved to less than the strength times its first width is fixed at its middle.",
    swaps=(before_bounds(_fixed),),
    strength=0.05,
)
