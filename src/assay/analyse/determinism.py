"""Does the model say the same of the same input, also in another batch?

A few random inputs go through it twice, in another order, and one of them alone. Scores that
differ from call to call are randomness of the model. Decisions and intervals then hold for the
failure rate over random inputs *and* that randomness, if it is independent from input to input; a
seed no longer fixes the result. Scores that depend on the other inputs of a batch make samples
dependent on each other, and no error bound holds; differences of the size of rounding do not matter
as long as no input passes in one batch and fails in another. A few inputs show what is usual, and
prove nothing.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from assay.analyse.asked import Asked

_INPUTS = 5
_ALONE = slice(2, 3)
_OF_ROUNDING = 1e-3
"""Relative to the largest score: more than summation in another order explains."""


@dataclass(frozen=True)
class Determinism:
    """The largest differences of scores, and whether an input failed in one call only."""

    inputs: int
    repeat_difference: float
    batch_difference: float
    batch_matters: bool
    outcomes_changed: bool

    @property
    def deterministic(self) -> bool:
        """Whether the same batch gave the same scores twice, to the last bit."""
        return self.repeat_difference == 0

    @property
    def document(self) -> dict[str, object]:
        return {"deterministic": self.deterministic, "determinism": asdict(self)}

    @property
    def warning(self) -> str:
        """What a reader must know; empty if nothing was seen."""
        changed = ", and an input that passed in one call failed in another"
        also = changed if self.outcomes_changed else ""
        if not self.deterministic:
            return (
                f"the model is not deterministic: the same {self.inputs} inputs, given twice, have "
                f"scores that differ by up to {self.repeat_difference:.3g}{also}. Rates and errors "
                "are then about random inputs and the model's own randomness together, and hold "
                "only if that is independent from input to input; the seed does not fix the result."
            )
        if self.batch_matters:
            return (
                "the model's scores depend on which inputs are in the batch: they differ by up to "
                f"{self.batch_difference:.3g}{also}. Samples are then not independent, and no "
                "error bound holds; give a model that treats every input by itself."
            )
        return ""


def determinism_of(asked: Asked) -> Determinism:
    """Checked once a model, on inputs of the first region that it is asked about."""
    if asked.model.determinism is None:
        asked.model.determinism = _checked(asked)
    return asked.model.determinism


def _checked(asked: Asked) -> Determinism:
    points = asked.sampler(0, "determinism").take(_INPUTS)
    first, again = asked.model.scores(points), asked.model.scores(points)
    turned = asked.model.scores(points.flip(0)).flip(0)
    alone = asked.model.scores(points[_ALONE])
    fails = asked.margins_of(first) <= 0
    others = [(first, again), (first, turned), (first[_ALONE], alone)]
    outcomes = [(fails, again), (fails, turned), (fails[_ALONE], alone)]
    repeat, *batches = (_difference(a, b) for a, b in others)
    changed = [bool((ours != (asked.margins_of(b) <= 0)).any()) for ours, b in outcomes]
    size = float(torch.nan_to_num(first.double(), posinf=0.0, neginf=0.0).abs().max())
    matters = max(batches) > _OF_ROUNDING * size or any(changed[1:])
    return Determinism(_INPUTS, repeat, max(batches), matters, any(changed))


def _difference(one: Tensor, other: Tensor) -> float:
    apart = torch.where(one == other, 0.0, (one.double() - other.double()).abs())
    return float(apart.max())
