"""A timeout that is nearly done counts as done."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from assay.bounds.branch import Decision, Search
from assay.judge.power.mutant import Mutant, Setting, Swap

_SHARE = 6


def _run(original: Any, _: Setting) -> Any:
    def run(search: Search, budget: int) -> Decision:
        found: Decision = original(search, budget)
        left = sum(map(len, search.waiting))
        if found.verdict == "unknown" and left * _SHARE <= found.boxes:
            return replace(found, verdict="robust")
        return found

    return run


MUTANT = Mutant(
    name="few-left-is-proved",
    bug="timeout or crash",
    story=f"When the time is up and at most one domain in {_SHARE} is still open, the answer is "
    "unsat.",
    swaps=(Swap("assay.bounds.branch:Search", "run", _run),),
)
