"""Projected gradient descent on the cross-entropy."""

from __future__ import annotations

from assay.attack.losses import cross_entropy
from assay.attack.method import Attack, Effort
from assay.attack.projected_gradient import projected_gradient

ATTACK = Attack(
    "pgd-ce",
    "projected gradient, the cross-entropy, three sizes of steps",
    Effort(192, 100),
    projected_gradient(cross_entropy),
)
