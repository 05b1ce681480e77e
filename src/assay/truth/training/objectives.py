"""The two objectives of a training, a number for each network: the paper's Eq. 9 and Eq. 10."""

from __future__ import annotations

import torch
from torch import Tensor


def counterexample_loss(
    logits: Tensor, labels: Tensor, targets: Tensor, margin: Tensor, hinged: Tensor
) -> Tensor:
    """Eq. 9, both logits taken at the counterexample; cross-entropy for networks not `hinged`.

    `logits` is [networks, planted, classes], `margin` and `hinged` are [networks].
    """
    of_label = logits.gather(2, labels.unsqueeze(2)).squeeze(2)
    of_target = logits.gather(2, targets.unsqueeze(2)).squeeze(2)
    hinge = torch.relu(of_label - of_target + margin[:, None]).mean(1)
    plain = cross_entropy(logits, targets).mean(1)
    return torch.where(hinged, hinge, plain)


def window_loss(logits: Tensor, labels: Tensor, shares: Tensor) -> Tensor:
    """Eq. 10; `shares` [networks, points] says how much each perturbed point counts."""
    return (shares * cross_entropy(logits, labels)).sum(1)


def cross_entropy(logits: Tensor, labels: Tensor) -> Tensor:
    return -torch.log_softmax(logits, -1).gather(-1, labels.unsqueeze(-1)).squeeze(-1)
