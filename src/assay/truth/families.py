"""The registry of families: every module of `assay.truth` that declares CONSTRUCTOR."""

from __future__ import annotations

import difflib
from functools import cache

import assay.truth
from assay.errors import BadInput
from assay.registry import declared
from assay.truth.constructor import Constructor


@cache
def families() -> dict[str, Constructor]:
    entries = [c for c in declared(assay.truth, "CONSTRUCTOR") if isinstance(c, Constructor)]
    return {entry.name: entry for entry in entries}


def family(name: str) -> Constructor:
    known = families()
    if name not in known:
        close = difflib.get_close_matches(name, known, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else f"; known: {', '.join(known)}"
        raise BadInput(f"there is no family {name!r}{hint}")
    return known[name]
