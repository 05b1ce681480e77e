"""What gradient attacks raise, for any property: its disjuncts seen as classes.

A violation is an OR of disjuncts; disjunct d is `gap_d` away from holding. Read 0 as the score of
the right class and -gap_d as that of wrong class d: the property is violated exactly when a wrong
class scores at least as much as the right one. Where the property is 'class y wins', these are the
network's own scores minus that of y, so margin, cross-entropy and DLR are what they always are.
DLR compares with the third best score. With a single disjunct there is none; a bystander class that
scores below -max|outputs| takes its place, which leaves the margin relative to the outputs.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from assay.attack.target import Target

Loss = Callable[[Target, Tensor], Tensor]
"""The loss [N] to be raised at outputs [N, outputs]."""
_THIRD = 3


def scores(target: Target, outputs: Tensor) -> Tensor:
    """[N, 1 + disjuncts], class 0 is right."""
    wrong = -target.gaps(outputs)
    return torch.cat([torch.zeros_like(wrong[:, :1]), wrong], dim=1)


def three_scores(target: Target, outputs: Tensor) -> Tensor:
    """The same, with a bystander if there would be only two."""
    found = scores(target, outputs)
    if found.shape[1] >= _THIRD:
        return found
    bystander = -1 - outputs.abs().amax(1, keepdim=True)
    return torch.cat([found, bystander], dim=1)


def margin(target: Target, outputs: Tensor) -> Tensor:
    return -target.gaps(outputs).amin(1)


def cross_entropy(target: Target, outputs: Tensor) -> Tensor:
    return torch.logsumexp(scores(target, outputs), dim=1)


def logit_ratio(target: Target, outputs: Tensor) -> Tensor:
    """DLR: the margin over the distance between the best and the third best score."""
    found = three_scores(target, outputs)
    best = found.sort(dim=1, descending=True).values
    return margin(target, outputs) / (best[:, 0] - best[:, _THIRD - 1] + 1e-12)
