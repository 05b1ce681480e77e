"""Names for tools that the user brings: they stand in tables, results and file names."""

from __future__ import annotations

import re

from assay.errors import BadInput

_OTHER = re.compile(r"[^A-Za-z0-9_.-]+")


def safe_name(text: str, place: str) -> str:
    """`text` with a dash for what is neither letter, digit, dot, dash nor underscore."""
    name = _OTHER.sub("-", text).strip("-.")
    if not name:
        raise BadInput(f"{place}: {text!r} gives no name for the tool; rename it with letters")
    return name
