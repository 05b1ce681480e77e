"""The registry of verifiers: every module of `assay.judge.verifiers` that declares VERIFIER."""

from __future__ import annotations

from functools import cache

import assay.judge.verifiers
from assay.judge.verifier import Verifier
from assay.registry import declared, named


@cache
def verifiers() -> dict[str, Verifier]:
    entries = declared(assay.judge.verifiers, "VERIFIER")
    return {entry.name: entry for entry in entries if isinstance(entry, Verifier)}


def verifier(name: str) -> Verifier:
    """A verifier by its name; mutants have one too, though they are not listed with the others."""
    if name.startswith("mutant-"):
        from assay.judge.power.verifier import mutant_verifier

        return mutant_verifier(name)
    return named(verifiers(), name, "verifier")
