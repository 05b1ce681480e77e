"""What became of the instances that a verifier left unsolved, in its own word: not all time out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Failing:
    """The verb of a sentence about a verifier, as `gives up`, and what it gives up with."""

    verb: str
    noun: str


TIMES_OUT = Failing("times out", "timeouts")
_MIXED = Failing("stays without an answer", "unsolved instances")
_BY_WORD = {
    "timeout": TIMES_OUT,
    "unknown": Failing("gives up", "unknown answers"),
    "out-of-memory": Failing("runs out of memory", "out-of-memory endings"),
}


def failing(words: Iterable[str]) -> Failing:
    """The words for unsolved instances, from the judge's word for each of them."""
    found = set(words)
    return _BY_WORD.get(next(iter(found)), _MIXED) if len(found) == 1 else _MIXED


def listed(words: Iterable[str]) -> str:
    """How often each word stands there, the most frequent first."""
    return ", ".join(f"{count} {word}" for word, count in Counter(words).most_common())
