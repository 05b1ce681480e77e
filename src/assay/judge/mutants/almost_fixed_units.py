"""Presolve fixes units that hardly change sign."""

from __future__ import annotations

import torch
from torch import Tensor

from assay.bounds.domains import Domains
from assay.judge.power.mutant import Mutant, Setting
from assay.judge.power.seams import at_root, with_ranges


def _fixed(domains: Domains, setting: Setting) -> Domains:
    def change(low: Tensor, high: Tensor) -> tuple[Tensor, Tensor]:
        little = setting.strength * (high - low)
        active, inactive = (low < 0) & (-low < little), (high > 0) & (high < little)
        return torch.where(active, 0.0, low), torch.where(inactive, 0.0, high)

    return with_ranges(domains, change)


MUTANT = Mutant(
    name="almost-fixed-units",
    bug="almost fixed",
    story="A unit that crosses zero by less than the strength times its range counts as stable.",
    swaps=(at_root(_fixed),),
    strength=0.05,
    operators=frozenset({"Relu", "LeakyRelu", "PRelu", "Abs"}),
)
