"""Square, a random search without gradients (Andriushchenko et al. 2020), as in torchattacks."""

from __future__ import annotations

from assay.attack.losses import scores
from assay.attack.method import Attack, Effort
from assay.attack.target import Target
from assay.attack.unit_images import attack_images, missing


def _run(target: Target, effort: Effort) -> None:
    attack_images(target, scores, "Square", effort.restarts, n_queries=effort.steps)


ATTACK = Attack(
    "square",
    "random search by squares, of torchattacks",
    Effort(32, 1000),
    _run,
    missing,
    gradients=False,
)
