"""What may be wrong with a verifier, in the words of `--fail-on`, and which of it was found."""

from __future__ import annotations

import difflib
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal, get_args

from assay.errors import BadInput
from assay.judge.outcome import SOLVED, Outcome
from assay.judge.score_table import ALL_FAMILIES, Group, Row, Scores

Fault = Literal["unsound", "bogus", "unwitnessed", "crash", "no-answer"]
FAULTS: tuple[Fault, ...] = get_args(Fault)
NONE = "none"
_OUTCOMES: dict[Fault, frozenset[Outcome]] = {
    "unsound": frozenset({"unsound"}),
    "bogus": frozenset({"bogus"}),
    "unwitnessed": frozenset({"unwitnessed"}),
    "crash": frozenset({"crashed", "garbled"}),
}
_BY_ARITHMETIC: Collection[Fault] = ("unsound", "bogus", "unwitnessed")
_VALID: frozenset[Outcome] = SOLVED | {"falsified within tolerance"}
_WORDS: dict[Fault, tuple[str, str]] = {
    "unsound": ("unsound answer", "unsound answers"),
    "bogus": ("bogus answer", "bogus answers"),
    "unwitnessed": ("answer without a valid witness", "answers without a valid witness"),
    "crash": ("crash or unreadable result", "crashes or unreadable results"),
}


@dataclass(frozen=True)
class Failure:
    """One fault of one verifier, and on how many instances it shows."""

    verifier: str
    fault: Fault
    instances: int

    def __str__(self) -> str:
        if self.fault == "no-answer":
            what = "instance" if self.instances == 1 else "instances"
            return f"{self.verifier} has no valid answer to any of {self.instances} {what}"
        return f"{self.verifier} has {self.instances} {_WORDS[self.fault][self.instances != 1]}"


def faults_named(text: str) -> tuple[Fault, ...]:
    """The faults of a list such as `unsound,crash`; `none` is the empty one."""
    words = [word.strip() for word in text.split(",")]
    if words == [NONE]:
        return ()
    for word in words:
        if word not in FAULTS:
            close = difflib.get_close_matches(word, FAULTS, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"give some of {','.join(FAULTS)}"
            alone = f"; {NONE!r} stands alone" if word == NONE else f"; {hint}, or {NONE!r}"
            raise BadInput(f"--fail-on {text}: {word!r} is not a kind of failure{alone}")
    return tuple(fault for fault in FAULTS if fault in words)


def failures(scores: Scores, wanted: Collection[Fault]) -> tuple[Failure, ...]:
    """Which of the faults the scores show, by verifier, the worst fault first.

    Answers to knife-edge instances, which rounding may turn, are neither unsound nor bogus nor
    unwitnessed here; nor is one unsound that only another verifier's witness contradicts, for then
    no proof tells that it is not such an instance. A verifier that was not run is not accused.
    """
    found = []
    for fault in (fault for fault in FAULTS if fault in wanted):
        for verifier in scores.verifiers:
            rows = [
                row
                for row in scores.rows
                if row.verifier == verifier and row.family == ALL_FAMILIES
            ]
            count = _unanswered(rows) if fault == "no-answer" else _count(rows, fault)
            if count:
                found.append(Failure(verifier, fault, count))
    return tuple(found)


def _count(rows: Collection[Row], fault: Fault) -> int:
    left_out: tuple[Group, ...] = ("real",) if fault in _BY_ARITHMETIC else ()
    return sum(
        row.count(outcome)
        for row in rows
        if row.group not in left_out
        for outcome in _OUTCOMES[fault]
    )


def _unanswered(rows: Collection[Row]) -> int:
    """The instances that were run, where none of them has a valid answer; otherwise 0."""
    if any(row.count(outcome) for row in rows for outcome in _VALID):
        return 0
    return sum(sum(row.counts.values()) for row in rows)
