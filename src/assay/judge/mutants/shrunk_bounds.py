"""SoundnessBench's alpha, intermediate bounds."""

from __future__ import annotations

from torch import Tensor

from assay.bounds.domains import Domains
from assay.judge.power.mutant import Mutant, Setting
from assay.judge.power.seams import at_root, with_ranges


def _shrunk(domains: Domains, setting: Setting) -> Domains:
    def change(low: Tensor, high: Tensor) -> tuple[Tensor, Tensor]:
        shift = setting.strength * 0.5 * (high - low)
        return low + shift, high - shift

    return with_ranges(domains, change)


MUTANT = Mutant(
    name="shrunk-bounds",
    bug="shrunk or stale bounds",
    story="The ranges of hidden units are shrunk towards their middle by the strength.",
    swaps=(at_root(_shrunk),),
    strength=0.02,
    symbol="alpha",
    operators=frozenset({"Relu", "LeakyRelu", "PRelu", "Abs"}),
)
