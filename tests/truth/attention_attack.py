"""Attacks on attention instances: floats look, balls decide."""

from __future__ import annotations

from fractions import Fraction

import torch
from attacks import Attack, snapped
from ball_conformance import agree_in_balls, agree_in_floats, margin_bounds

from assay.proof.checker import check
from assay.question import vnnlib
from assay.truth.instance import Instance


def centre(instance: Instance) -> list[Fraction]:
    (case,) = vnnlib.read(instance.vnnlib.decode(), instance.name).cases
    return [(a + b) / 2 for a, b in zip(case.box.lower, case.box.upper, strict=True)]


def assert_proved_and_unbroken(robust: Instance, violated: Instance, seed: int) -> None:
    """The checker verifies both, evaluators agree, attacks fail, and the twin's centre is right."""
    for instance in (robust, violated):
        verdict = check(instance.onnx, instance.vnnlib, instance.truth.to_json().encode(), None)
        assert (verdict.status, verdict.answer) == ("verified", instance.name), verdict.reason
        assert (verdict.margin, verdict.guard) == (instance.truth.margin, "real")
        agree_in_balls(instance, [centre(instance)])
        agree_in_floats(instance, [centre(instance)])
    assert lowest_margin(robust, seed) >= robust.truth.margin > 0
    assert margin_bounds(violated, centre(violated))[0] > 0


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
