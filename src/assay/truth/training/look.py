"""How far trained networks are, by an attack: the columns of the paper's Table 2."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import torch
from torch import Tensor

from assay.truth.training.ascent import margin_of_wrong
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

    @classmethod
    def joined(cls, looks: Sequence[Look]) -> Look:
        """One look at the networks of several."""
        return cls(*(sum((getattr(look, f.name) for look in looks), ()) for f in fields(cls)))


def looked(bank: Bank, examples: ExampleTensors, margin: Tensor) -> Look:
    """`margin` [networks, examples] is the largest of a wrong class that attacks saw."""
    planted = examples.planted
    with torch.no_grad():
        frozen = bank.frozen()
        at_centre = bank.run(frozen, examples.centres)
        at_planted = bank.run(frozen, examples.counterexamples)
        correct = margin_of_wrong(at_centre, examples.labels.unsqueeze(2)) < 0
        wrong = at_planted.argmax(2) == examples.targets
        unbroken = correct & (margin < 0)
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
