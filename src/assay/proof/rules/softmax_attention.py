"""Robust because no excess of an attention network can fall below zero on the box.

Every excess is at least its value at the centre less the largest drop that its derivatives over
the whole box allow: the mean-value form in balls (`ball_network`), with each head of attention
read from the graph as one operation (`softmax_head`). The rule follows any graph of the operators
it knows: one head or many, residual sums and feed-forward layers.
"""

from __future__ import annotations

from fractions import Fraction

from flint import ctx

from assay.proof.ball_network import BoxAnalysis
from assay.proof.balls import BITS, floor
from assay.proof.claim import Claim, Proof


def prove(claim: Claim) -> Proof:
    return Proof(min(least_excesses(claim)))


def least_excesses(claim: Claim) -> list[Fraction]:
    """For each disjunct a lower bound, over the box, of its largest excess."""
    with ctx.workprec(BITS):
        analysis = BoxAnalysis(claim.graph, claim.question)
        met = {i for disjunct in claim.question.disjuncts for i in disjunct}
        least = {i: floor(analysis.first_order(i).least) for i in met}
        return [max(least[i] for i in disjunct) for disjunct in claim.question.disjuncts]
