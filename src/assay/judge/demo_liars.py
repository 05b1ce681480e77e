"""Three verifiers that lie, to show that lying does not pay: `assay audit --demo-liars`."""

from __future__ import annotations

from assay.judge.own_tool import own_verifier
from assay.judge.verifier import Verifier


def demo_liars() -> list[Verifier]:
    """Not in the catalogue: they are asked for, or not there."""
    return [
        own_verifier("liar-unsat", "demonstration: always says robust", None),
        own_verifier("liar-sat", "demonstration: always says violated", None),
        own_verifier("coin", "demonstration: guesses", None),
    ]
