"""Auto-PGD on the cross-entropy (Croce and Hein 2020), as torchattacks implements it."""

from __future__ import annotations

from assay.attack.losses import scores
from assay.attack.method import Attack, Effort
from assay.attack.target import Target
from assay.attack.unit_images import attack_images, missing


def _run(target: Target, effort: Effort) -> None:
    attack_images(target, scores, "APGD", effort.restarts, steps=effort.steps, loss="ce")


ATTACK = Attack(
    "apgd-ce", "Auto-PGD on the cross-entropy, of torchattacks", Effort(64, 100), _run, missing
)
