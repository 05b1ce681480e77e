"""Robust because the network is constant on the box: a whole layer is dead there.

Either every unit of the first hidden layer has an exact interval that ends at or below zero, or
every unit of the second is a gate: a nonnegative sum of first-layer hinges minus a threshold
that the sum's exact maximum over the box (`corner_maximum`) does not exceed. Everything after
the dead layer is evaluated exactly at one point.
"""

from __future__ import annotations

from fractions import Fraction

from assay.proof.arithmetic import Rejected, Vector
from assay.proof.claim import Claim, Proof
from assay.proof.corner_maximum import corner_maxima
from assay.proof.interval import Interval, through


def prove(claim: Claim) -> Proof:
    dead, bounds = _dead_layer(claim)
    zero = Vector((0,) * claim.chain.layers[dead].units, 1)
    outputs = claim.chain.outputs(zero, start=dead + 1)
    return Proof(claim.question.margin(outputs.fractions()), {dead: bounds})


def _dead_layer(claim: Claim) -> tuple[int, Interval]:
    """The layer that is zero on the whole box, and intervals that prove it."""
    hidden = claim.chain.hidden
    if not hidden:
        raise Rejected("a network without hidden layers is not constant on the box")
    first = through(hidden[0], claim.box)
    if max(first.upper.numerators) <= 0:
        return 0, first
    if len(hidden) < 2:
        raise Rejected("some unit of the only hidden layer is not dead on the box")
    gates = hidden[1]
    highest = []
    for unit, row in enumerate(gates.rows):
        hinges = [j for j, weight in enumerate(row) if weight]
        weights = [row[j] for j in hinges]
        if min(weights, default=0) < 0:
            raise Rejected(f"gate {unit} of the second hidden layer is not convex")
        (maximum,) = corner_maxima(hidden[0], hinges, [weights], claim.box)
        highest.append((maximum + gates.bias[unit]) / gates.denominator)
        if highest[-1] > 0:
            raise Rejected(f"gate {unit} of the second hidden layer opens inside the box")
    return 1, Interval.of([Fraction(b, gates.denominator) for b in gates.bias], highest)
