"""The registry of mutants: every module of `assay.judge.mutants` that declares MUTANT."""

from __future__ import annotations

from functools import cache

import assay.judge.mutants
from assay.errors import BadInput
from assay.judge.power.mutant import Mutant, Specimen
from assay.registry import declared, named


@cache
def mutants() -> dict[str, Mutant]:
    entries = declared(assay.judge.mutants, "MUTANT")
    return {entry.name: entry for entry in entries if isinstance(entry, Mutant)}


def specimen(text: str) -> Specimen:
    """`NAME` at its usual strength, or `NAME@STRENGTH`."""
    name, at, strength = text.partition("@")
    found = named(mutants(), name, "mutant")
    usual = Specimen(found, found.strength)
    if not at:
        return usual
    try:
        return usual.at(float(strength))
    except ValueError:
        raise BadInput(f"{text!r}: {strength!r} is not a strength; write {name}@0.02") from None
