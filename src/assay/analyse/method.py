"""What a module of `assay.analyse.rules` declares as RULE."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from assay.analyse.decision import Rule
from assay.analyse.promise import Promise


@dataclass(frozen=True)
class Method:
    """A way to make a rule for a promise; `holds` says whether it keeps what is promised."""

    name: str
    summary: str
    holds: bool
    rule: Callable[[Promise], Rule]
