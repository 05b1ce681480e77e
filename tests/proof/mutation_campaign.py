"""How every kind of certificate is attacked: claims are spoiled, and an oracle judges the checker.

The oracle decides, sharing nothing with the checker, whether a spoiled claim is still true.
`make test` tries every mutator on every claim a quarter as often as `make test-all`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from mutators import Mutant, Mutator
from small_claims import Claimed
from tier import sized

Outcomes = Counter[tuple[str, str, str]]
"""How often: answer, kind of mutation, what became of it."""
_QUARTERS = sized(1, 4)
_NOTHING_TO_SPOIL = (LookupError, ValueError, TypeError, AttributeError, ArithmeticError)


@dataclass(frozen=True)
class Oracle:
    """Whether a claim is true of its files, and whether float32 agrees with it."""

    holds: Callable[[Claimed], bool]
    float32_agrees: Callable[[Claimed], bool]

    def judge(self, mutant: Mutant) -> str:
        """What became of a mutant; an assertion fails if the checker let a wrong one pass."""
        claim = mutant.claim
        if claim.verdict().status != "verified":
            if mutant.broken:
                return "broken, rejected"
            return "still true, rejected" if self.holds(claim) else "false, rejected"
        assert not mutant.broken, "a broken proof was verified"
        assert self.holds(claim), "a false claim was verified"
        if claim.truth["guard"] == "float32":
            assert self.float32_agrees(claim), "float32 contradicts a verified guard"
        return "still true, verified"

    def accepts_originals(self, claims: Sequence[Claimed]) -> bool:
        """Whether both answers are there, and the checker and the oracle agree on each."""
        both = {claim.truth["answer"] for claim in claims} == {"robust", "violated"}
        return both and all(self.judge(Mutant(c)) == "still true, verified" for c in claims)


def spoiled(
    claim: Claimed, spoil: Mutator, draw: Random, donors: Sequence[Claimed]
) -> Mutant | None:
    """A mutant, or None where there is nothing of this kind to spoil."""
    try:
        return spoil(claim, draw, donors)
    except _NOTHING_TO_SPOIL:
        return None


def tally(
    name: str,
    claims: Iterable[Claimed],
    donors: Sequence[Claimed],
    spoilers: Mapping[str, tuple[Mutator, int]],
    oracle: Oracle,
) -> Outcomes:
    """Spoil every claim by every mutator so many times, seeded by the name, and judge."""
    found: Outcomes = Counter()
    for claim in claims:
        for kind, (spoil, rounds) in spoilers.items():
            for number in range(rounds):
                draw = Random(f"{name}/{claim.truth['answer']}/{kind}/{number}")
                mutant = spoiled(claim, spoil, draw, donors)
                if mutant is not None:
                    found[claim.truth["answer"], kind, oracle.judge(mutant)] += 1
    return found


def total(outcomes: Outcomes, *wanted: str) -> int:
    return sum(n for key, n in outcomes.items() if set(wanted) <= set(key))


def assert_none_is_empty(outcomes: Outcomes, *, broken: int, false: int, harmless: int) -> None:
    """Of both answers, proofs failed, truths changed, and some harmless mutants passed.

    The numbers are those of a whole campaign.
    """
    for answer in ("robust", "violated"):
        assert 4 * total(outcomes, answer, "broken, rejected") >= broken * _QUARTERS
        assert 4 * total(outcomes, answer, "false, rejected") >= false * _QUARTERS
        assert 4 * total(outcomes, answer, "still true, verified") >= harmless * _QUARTERS


def assert_each_spoils(outcomes: Outcomes, kinds: Iterable[str]) -> None:
    for kind in kinds:
        rejected = [total(outcomes, kind, f"{why}, rejected") for why in ("false", "still true")]
        assert sum(rejected) > 0, f"{kind} spoiled nothing"


def spoiled_again(
    claim: Claimed,
    kinds: Iterable[str],
    spoilers: Mapping[str, Mutator],
    draw: Random,
    donors: Sequence[Claimed],
) -> Mutant:
    """A mutant of a mutant, as long as what it claims is known."""
    mutant = Mutant(claim)
    for number, kind in enumerate(kinds):
        # what a guard may say of a claim that was changed before is not known
        if mutant.broken or (number and kind == "guard_raised"):
            break
        mutant = spoiled(mutant.claim, spoilers[kind], draw, donors) or mutant
    return mutant


def in_rounds(
    often: Mapping[str, Mutator], rounds: int, *, more: Iterable[str] = (), times: int = 3
) -> dict[str, tuple[Mutator, int]]:
    """How often to try each mutator in this tier; those in `more` several times as often."""
    favoured, rounds = set(more), -(-rounds * _QUARTERS // 4)
    return {
        kind: (spoil, rounds * times if kind in favoured else rounds)
        for kind, spoil in often.items()
    }
