"""The decision rules: one module a rule, which declares RULE."""

from __future__ import annotations

import sys
from functools import cache, lru_cache

from assay import registry
from assay.analyse.decision import Rule
from assay.analyse.method import Method
from assay.analyse.promise import Promise


@cache
def methods() -> dict[str, Method]:
    entries = registry.declared(sys.modules[__name__], "RULE")
    return {entry.name: entry for entry in entries if isinstance(entry, Method)}


def named(name: str) -> Method:
    return registry.named(methods(), name, "method")


@lru_cache(maxsize=256)
def rule_for(name: str, promise: Promise) -> Rule:
    """The rule of that name that keeps this promise; made once, so that its boundaries are too."""
    return named(name).rule(promise)
