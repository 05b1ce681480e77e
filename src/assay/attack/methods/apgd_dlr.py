"""Auto-PGD on the difference of logits ratio (Croce and Hein 2020), as in torchattacks."""

from __future__ import annotations

from assay.attack.losses import three_scores
from assay.attack.method import Attack, Effort
from assay.attack.target import Target
from assay.attack.unit_images import attack_images, missing


def _run(target: Target, effort: Effort) -> None:
    attack_images(target, three_scores, "APGD", effort.restarts, steps=effort.steps, loss="dlr")


ATTACK = Attack(
    "apgd-dlr",
    "Auto-PGD on the difference of logits ratio, of torchattacks",
    Effort(64, 100),
    _run,
    missing,
)
