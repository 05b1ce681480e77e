"""One specimen, or the verifier as it is, asked one question inside this process.

Within the budget of boxes the verdicts are those that the tool gives as a process of its own, which
has more of them. What is saved are starting it, reading the files again, and the attack with which
every search begins: it is the same for all mutants that do not touch it, so that its result is
carried over from the unmutated verifier. And searches that begin alike share what they compute.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from assay.bounds.counterexample import Falsifier, Witness
from assay.judge.builtin import linear
from assay.judge.power.memory import Memory, remembering
from assay.judge.power.mutant import NOTHING, Setting, Specimen, Swap, applied, swapped
from assay.judge.task import Answer, Ending, Verdict
from assay.question.network import Network
from assay.question.property import Specification

_ATTACK = "assay.bounds.counterexample:Falsifier"


@dataclass(frozen=True)
class Budget:
    """What one answer may cost; `boxes` keeps answers the same on machines of any speed."""

    seconds: float
    boxes: int


@dataclass(frozen=True)
class Trial:
    """What was answered; `attacked` says that the first attack already found a witness."""

    verdict: Verdict | None
    ending: Ending
    attacked: bool
    seconds: float
    note: str = ""


def tried(
    network: Network,
    specification: Specification,
    budget: Budget,
    specimen: Specimen | None = None,
    *,
    seed: int = 0,
    attack_fails: bool = False,
    memory: Memory | None = None,
) -> Trial:
    """Ask; `attack_fails` says that the attack with this seed is known to find nothing.

    `memory` is of this question and saves what earlier searches have computed in this process.

    A mutant that breaks down gives no verdict: its crash is an ending, not a wrong answer.
    """
    begun = time.monotonic()
    with ExitStack() as undo:
        if memory is not None:
            mutant = None if specimen is None else specimen.mutant
            undo.enter_context(remembering(memory, mutant))
        if specimen is not None:
            undo.enter_context(applied(specimen, seed, network.sha256))
        if attack_fails:
            undo.enter_context(_without_attack())
        found = undo.enter_context(_attacks_noted())
        try:
            answer: Answer | None = linear.answer(
                network, specification, budget.seconds, boxes=budget.boxes, seed=seed
            )
            note = ""
        except Exception as error:
            if specimen is None:
                raise
            answer, note = None, f"{type(error).__name__}: {' '.join(str(error).split())[:120]}"
    return Trial(
        verdict=None if answer is None else answer.verdict,
        ending="crashed" if answer is None else "answered",
        attacked=any(found),
        seconds=time.monotonic() - begun,
        note=note,
    )


@contextmanager
def _attacks_noted() -> Iterator[list[bool]]:
    """The list grows by one entry an attack: whether it found a witness."""
    found: list[bool] = []

    def make(original: Any, _: Setting) -> Any:
        def attack(falsifier: Falsifier) -> Witness | None:
            witness: Witness | None = original(falsifier)
            found.append(witness is not None)
            return witness

        return attack

    with swapped(Swap(_ATTACK, "attack", make), NOTHING):
        yield found


@contextmanager
def _without_attack() -> Iterator[None]:
    swap = Swap(_ATTACK, "attack", lambda _original, _setting: lambda _falsifier: None)
    with swapped(swap, NOTHING):
        yield
