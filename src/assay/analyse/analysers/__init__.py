"""All that can be calibrated: one module a method, or a kind of methods, declaring ANALYSERS."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cache

from assay import registry
from assay.analyse.calibration.analyser import Analyser


@cache
def analysers() -> dict[str, Analyser]:
    """Every analyser by its name, in the order of the modules."""
    found: dict[str, Analyser] = {}
    for entries in registry.declared(sys.modules[__name__], "ANALYSERS"):
        assert isinstance(entries, tuple)
        found.update({entry.name: entry for entry in entries if isinstance(entry, Analyser)})
    return found


def chosen(names: Sequence[str]) -> list[Analyser]:
    """The analysers of these names, without repeats; all if there are no names."""
    known = analysers()
    return [registry.named(known, name, "analyser") for name in dict.fromkeys(names or known)]
