"""Projected gradient descent on the difference of logits ratio."""

from __future__ import annotations

from assay.attack.losses import logit_ratio
from assay.attack.method import Attack, Effort
from assay.attack.projected_gradient import projected_gradient

ATTACK = Attack(
    "pgd-dlr",
    "projected gradient, the difference of logits ratio, three sizes of steps",
    Effort(192, 100),
    projected_gradient(logit_ratio),
)
