"""Fast Adaptive Boundary (Croce and Hein 2020), as torchattacks implements it."""

from __future__ import annotations

from assay.attack.losses import scores
from assay.attack.method import Attack, Effort
from assay.attack.target import Target
from assay.attack.unit_images import attack_images, missing


def _run(target: Target, effort: Effort) -> None:
    classes = 1 + target.disjuncts
    attack_images(
        target, scores, "FAB", effort.restarts, steps=effort.steps, n_classes=classes, n_restarts=2
    )


ATTACK = Attack("fab", "Fast Adaptive Boundary, of torchattacks", Effort(32, 30), _run, missing)
