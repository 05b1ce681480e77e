"""Projected gradient descent on the margin."""

from __future__ import annotations

from assay.attack.losses import margin
from assay.attack.method import Attack, Effort
from assay.attack.projected_gradient import projected_gradient

ATTACK = Attack(
    "pgd-margin",
    "projected gradient, the margin, three sizes of steps",
    Effort(192, 100),
    projected_gradient(margin),
)
