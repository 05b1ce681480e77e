"""The registry of families: every module of `assay.truth` that declares CONSTRUCTOR."""

from __future__ import annotations

from functools import cache

import assay.truth
from assay.registry import declared, named
from assay.truth.constructor import Constructor


@cache
def families() -> dict[str, Constructor]:
    entries = [c for c in declared(assay.truth, "CONSTRUCTOR") if isinstance(c, Constructor)]
    return {entry.name: entry for entry in entries}


def family(name: str) -> Constructor:
    return named(families(), name, "family")
