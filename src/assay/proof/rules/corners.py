"""Robust because the margin is concave: its minimum over a box is at a corner.

The network has one hidden layer. If an excess gives every hinge a weight <= 0, then minus the
excess is a constant plus a convex function, whose exact maximum `corner_maximum` finds.
"""

from __future__ import annotations

from assay.proof.arithmetic import Rejected, Unsupported
from assay.proof.claim import Claim, Proof
from assay.proof.corner_maximum import corner_maxima


def prove(claim: Claim) -> Proof:
    if len(claim.chain.hidden) != 1:
        raise Unsupported("a corners certificate is for networks with one hidden layer")
    layer = claim.chain.hidden[0]
    objectives = list(claim.objectives())
    weights = [[-c for c in objective.coefficients.numerators] for objective in objectives]
    for number, row in enumerate(weights):
        if min(row) < 0:
            hinge = row.index(min(row))
            raise Rejected(f"disjunct {number} is not concave: hinge {hinge} pulls up")
    highest = corner_maxima(layer, list(range(layer.units)), weights, claim.box)
    return Proof(
        min(
            objective.constant - maximum / objective.coefficients.denominator
            for objective, maximum in zip(objectives, highest, strict=True)
        )
    )
