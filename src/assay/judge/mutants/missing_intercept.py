"""The chord above a ReLU without its intercept."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from assay.bounds.operators.lines import Line
from assay.bounds.operators.relaxation import Relaxation
from assay.bounds.rounding import Interval
from assay.judge.power.mutant import Mutant, Setting, Swap


def _bent(original: Any, setting: Setting) -> Any:
    def bent(x: Interval, slope: Tensor) -> Relaxation:
        found: Relaxation = original(x, slope)
        kept = found.upper.offset * (1 - setting.strength)
        return replace(found, upper=Line(found.upper.slope, torch.maximum(kept, 0 * kept)))

    return bent


MUTANT = Mutant(
    name="missing-intercept",
    bug="relaxation",
    story="The upper line of an unstable ReLU has lost the strength's share of its intercept.",
    swaps=(Swap("assay.bounds.operators.relaxation", "bent", _bent),),
    strength=0.1,
    operators=frozenset({"Relu", "LeakyRelu", "PRelu", "Abs"}),
)
