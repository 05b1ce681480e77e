"""Mutants as verifiers like any other: `mutant-NAME@STRENGTH`, run as processes of their own."""

from __future__ import annotations

from assay.judge.own_tool import own_verifier
from assay.judge.power.catalogue import mutants, specimen
from assay.judge.verifier import Verifier
from assay.question.exact import READABLE_OPERATORS

PREFIX = "mutant-"


def mutant_verifier(name: str) -> Verifier:
    """The verifier of that name; raises BadInput where there is no such mutant or strength."""
    found = specimen(name.removeprefix(PREFIX))
    return own_verifier(
        f"{PREFIX}{found.name}",
        f"broken on purpose ({found.mutant.bug}): {found.mutant.story}",
        READABLE_OPERATORS,
        needs_torch=True,
        module="assay.judge.power",
    )


def mutant_verifiers() -> list[Verifier]:
    """All of them, at their usual strengths."""
    return [mutant_verifier(name) for name in mutants()]
