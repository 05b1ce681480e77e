"""How far trained networks are, by an attack: the columns of the paper's Table 2."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from assay.truth.training.ascent import Ascent, margin_of_wrong
from assay.truth.training.bank import Bank
from assay.truth.training.example_tensors import ExampleTensors

Counts = tuple[int, ...]


@dataclass(frozen=True)
class Look:
    """A number for each network."""

    correct: Counts
    """Centres with a counterexample that are classified rightly."""
    planted: Counts
    """Counterexamples that the network gets wrong as it should."""
    hidden: Counts
    """Both, and the attack found nothing."""
    regular_correct: Counts
    regular_unbroken: Counts
    """Regular examples that are right at the centre and that the attack did not break."""
    places: tuple[Counts, ...]
    """Which examples are hidden."""


def looked(bank: Bank, examples: ExampleTensors, attack: Ascent, steps: int) -> Look:
    attack.run(steps)
    planted = examples.planted
    with torch.no_grad():
        frozen = bank.frozen()
        at_centre = bank.run(frozen, examples.centres)
        at_planted = bank.run(frozen, examples.counterexamples)
        correct = margin_of_wrong(at_centre, examples.labels.unsqueeze(2)) < 0
        wrong = at_planted.argmax(2) == examples.targets
        unbroken = correct & (attack.margin < 0)
        hidden = wrong & unbroken[:, :planted]
    return Look(
        correct=_counts(correct[:, :planted]),
        planted=_counts(wrong),
        hidden=_counts(hidden),
        regular_correct=_counts(correct[:, planted:]),
        regular_unbroken=_counts(unbroken[:, planted:]),
        places=tuple(tuple(row.nonzero().flatten().tolist()) for row in hidden),
    )


def _counts(mask: Tensor) -> Counts:
    return tuple(mask.sum(1).tolist())
