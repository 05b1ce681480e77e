"""Robust because no block of a residual network moves two inputs apart.

Let c be the middle of the box, r its radii and z(x) the last state. Every block is non-expansive
in l2 (see `nonexpansive`), so |z(x) - z(c)|_2 <= L |r|_2 with L the stem's l2 norm, or 1. An
excess a z + b therefore drops below its exact value at c by at most |a|_2 L |r|_2, whatever the
depth.
"""

from __future__ import annotations

from fractions import Fraction

from assay.proof.arithmetic import root_above
from assay.proof.claim import Claim, Proof
from assay.proof.nonexpansive import check_nonexpansive
from assay.proof.operator_norms import squared_stretch


def prove(claim: Claim) -> Proof:
    return Proof(min(excesses(claim)))


def excesses(claim: Claim) -> list[Fraction]:
    """Lower bounds, over the box, of the excess of each disjunct."""
    network, box = claim.residual_network, claim.box
    check_nonexpansive(network)
    squares = sum((r * r for r in box.radii.fractions()), start=Fraction(0))
    if network.stem is not None:
        squares *= squared_stretch(network.stem)
    state = network.states(box.middle)[-1]
    bounds = []
    for objective in claim.objectives():
        row, scale = objective.coefficients.numerators, objective.coefficients.denominator
        drop = root_above(squares * Fraction(sum(w * w for w in row), scale * scale))
        bounds.append(objective.at(state) - drop)
    return bounds
