"""Analysers broken on purpose: one module a bug, declaring BROKEN. `assay calibrate --power`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cache

from assay import registry
from assay.analyse.calibration.broken import Broken


@cache
def broken_analysers() -> dict[str, Broken]:
    """Every one by its name, in the order of the modules."""
    entries = registry.declared(sys.modules[__name__], "BROKEN")
    return {entry.name: entry for entry in entries if isinstance(entry, Broken)}


def chosen_broken(names: Sequence[str]) -> list[Broken]:
    """The broken analysers of these names, without repeats; all if there are no names."""
    known = broken_analysers()
    return [
        registry.named(known, name, "broken analyser") for name in dict.fromkeys(names or known)
    ]
