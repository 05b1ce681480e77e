"""An explanation as one JSON document; infinite numbers, which JSON lacks, are the text `inf`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from assay.difficulty.explanation import Explanation


def to_document(explanation: Explanation) -> dict[str, Any]:
    """All that was found, under the names that the classes of `explanation.py` use."""
    document = _plain(explanation)
    for verifier, found in zip(document["verifiers"], explanation.verifiers, strict=True):
        verifier["counts"] = {
            outcome: found.count(outcome) for outcome in ("solved", "unsolved", "left out")
        }
    return document  # type: ignore[no-any-return]


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {name: _plain(inner) for name, inner in value.items()}
    if isinstance(value, tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value
