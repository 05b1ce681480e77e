"""Attacks on attention instances: floats look, balls decide."""

from __future__ import annotations

from fractions import Fraction

import torch
from attacks import Attack, snapped
from ball_conformance import margin_bounds

from assay.truth.instance import Instance


def lowest_margin(instance: Instance, seed: int, rounds: int = 20) -> Fraction:
    """A lower bound of the margin at the worst points that were found."""
    attack = Attack(instance, seed)
    with torch.no_grad():
        attack.excesses(attack.uniform(400))
        attack.excesses(attack.corners(400))
    for targeted in (False, True):
        starts = torch.cat([attack.points, attack.corners(30), attack.uniform(30)])
        attack.descend(starts, rounds, 0.2, targeted=targeted)
        attack.jump(torch.cat([attack.points, attack.corners(30)]), 6)
    with torch.no_grad():
        attack.polish(8, 100)
    points = [snapped(point.tolist(), attack.box) for point in attack.points]
    return min(margin_bounds(instance, point)[0] for point in points)
