"""Robust because the bump that was planted stays below the constant that it would have to exceed.

Outputs are followed as forms: what label and rival share cancels exactly, what depends on one input
alone is exact, and a lock of parities is at most what elimination over GF(2) lets it be. The least
value of what is left of each excess is then bounded term by term; of bumps that nowhere meet, the
highest one counts.
"""

from __future__ import annotations

from fractions import Fraction

from assay.proof.bumps import least
from assay.proof.claim import Claim, Proof
from assay.proof.form_network import FormNetwork, read_forms


def prove(claim: Claim) -> Proof:
    network = read_forms(claim)
    return Proof(min(_least(network, claim)), bounds=network.bounds)


def least_excesses(claim: Claim) -> list[Fraction]:
    """For each disjunct a lower bound of its excess over the box."""
    return _least(read_forms(claim), claim)


def _least(network: FormNetwork, claim: Claim) -> list[Fraction]:
    return [least(network.space, excess) for excess in network.excesses(claim)]
