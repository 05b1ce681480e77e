"""Fast Adaptive Boundary (Croce and Hein 2020), as torchattacks implements it."""

from __future__ import annotations

from assay.attack.losses import scores
from assay.attack.method import Attack, Effort
from assay.attack.target import Target
from assay.attack.unit_images import attack_boundary, missing


def _run(target: Target, effort: Effort) -> None:
    classes = 1 + target.disjuncts
    attack_boundary(target, scores, effort.restarts, steps=effort.steps, n_classes=classes)


ATTACK = Attack("fab", "Fast Adaptive Boundary, of torchattacks", Effort(64, 30), _run, missing)
