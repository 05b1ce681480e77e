"""What a result amounts to, once the truth is known: soundness first, then everything else."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from assay.judge.results import Result
from assay.judge.task import Ending
from assay.judge.witness_classes import ESTABLISHING
from assay.truth.record import Truth

Outcome = Literal[
    "unsound",
    "bogus",
    "proved",
    "falsified",
    "falsified unchecked",
    "falsified within tolerance",
    "unwitnessed",
    "says robust",
    "says violated",
    "contradicted",
    "unknown",
    "timeout",
    "out-of-memory",
    "crashed",
    "refused",
    "unsupported",
    "garbled",
    "inconsistent",
]
"""unsound: says robust, the truth is violated. bogus: says violated, the truth is robust.
proved, falsified: right, the latter with a witness that needs no tolerance (`unchecked`: nobody
looked at it; `within tolerance`: it is out of the box by at most the tolerance). unwitnessed:
says violated, rightly or with no truth to tell, but its witness shows nothing. Where there is no
truth: says robust, says violated (with such a witness or unchecked), contradicted (says robust,
yet somebody has an exact witness). inconsistent: no outcome holds the majority of the repeats.
The rest: no verdict that counts."""

OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
SOLVED: frozenset[Outcome] = frozenset(
    {"proved", "falsified", "falsified unchecked", "says robust", "says violated"}
)
_WORST_FIRST: tuple[Outcome, ...] = ("unsound", "contradicted", "bogus")
_WITHOUT_VERDICT: dict[Ending, Outcome] = {
    "answered": "unknown",
    "timeout": "timeout",
    "out-of-memory": "out-of-memory",
    "crashed": "crashed",
    "refused": "refused",
    "unsupported": "unsupported",
    "garbled": "garbled",
}


@dataclass(frozen=True)
class Settled:
    """The outcome of one verifier on one instance, repeats taken together.

    `result` is the repeat that stands for it; `disagree` says that not all repeats had this
    outcome, which a deterministic tool with time to spare does not do.
    """

    verifier: str
    outcome: Outcome
    result: Result
    wall_s: float
    repeats: int
    disagree: bool

    @property
    def instance(self) -> str:
        return self.result.instance

    @property
    def solved(self) -> bool:
        return self.outcome in SOLVED

    @property
    def witness_label(self) -> str:
        return self.result.witness_class or "unchecked"


def outcome(result: Result, truth: Truth | None, established: Collection[str]) -> Outcome:
    """What one result amounts to; `established` names the instances with an exact witness."""
    if not result.counts or result.verdict == "unknown":
        return _WITHOUT_VERDICT[result.ending]
    if result.verdict == "robust":
        if truth is not None:
            return "proved" if truth.answer == "robust" else "unsound"
        return "contradicted" if result.instance in established else "says robust"
    if truth is not None and truth.answer == "robust":
        return "bogus"
    if result.witness_class is None:
        return "falsified unchecked" if truth else "says violated"
    if result.witness_class in ESTABLISHING:
        return "falsified" if truth else "says violated"
    if result.witness_class == "within tolerance only":
        return "falsified within tolerance"
    return "unwitnessed"


def settle(
    verifier: str, repeats: Sequence[Result], truth: Truth | None, established: Collection[str]
) -> Settled:
    """One outcome for all repeats of a task.

    A wrong answer in any repeat is the outcome: soundness has no majority. Otherwise more than
    half of the repeats must agree.
    """
    outcomes = [outcome(result, truth, established) for result in repeats]
    if len(repeats) == 1:
        return Settled(verifier, outcomes[0], repeats[0], repeats[0].wall_s, 1, False)
    chosen = _chosen(outcomes)
    alike = [r for r, found in zip(repeats, outcomes, strict=True) if found == chosen] or repeats
    middle = statistics.median_low(sorted(r.wall_s for r in alike))
    return Settled(
        verifier=verifier,
        outcome=chosen,
        result=next(r for r in alike if r.wall_s == middle),
        wall_s=middle,
        repeats=len(repeats),
        disagree=len(set(outcomes)) > 1,
    )


def _chosen(outcomes: Sequence[Outcome]) -> Outcome:
    for worst in _WORST_FIRST:
        if worst in outcomes:
            return worst
    most, count = Counter(outcomes).most_common(1)[0]
    return most if 2 * count > len(outcomes) else "inconsistent"
