"""The battery: every attack on a question, each with its stated effort, found points exact.

    results = run(network, specification, Budget(strength=10), "cuda")

A result without a point says only that this much effort found nothing.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from functools import cache

import assay.attack.methods
from assay.attack.black_box import BlackBox
from assay.attack.method import Attack, Effort
from assay.attack.target import Found, Seen, Target
from assay.bounds.device import device_named
from assay.difficulty.margin import MarginFunction
from assay.errors import AssayError, BadInput, Unsupported, defect
from assay.question.network import Network
from assay.question.property import Specification
from assay.question.runnable import Runnable
from assay.registry import declared, named

STRENGTHS = 1, 1000
NO_GRADIENTS = "needs gradients"


@cache
def attacks() -> dict[str, Attack]:
    """The registry: every module of `assay.attack.methods` that declares ATTACK."""
    entries = declared(assay.attack.methods, "ATTACK")
    return {entry.name: entry for entry in entries if isinstance(entry, Attack)}


@dataclass(frozen=True)
class Budget:
    """`strength` multiplies every attack's effort; no `attacks` means all of them."""

    strength: int = 1
    seed: int = 0
    attacks: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        least, most = STRENGTHS
        if not least <= self.strength <= most:
            raise BadInput(f"--strength {self.strength} is not between {least} and {most}")
        for name in self.attacks:
            named(attacks(), name, "attack")

    @property
    def chosen(self) -> tuple[Attack, ...]:
        wanted = set(self.attacks) or set(attacks())
        return tuple(attack for name, attack in attacks().items() if name in wanted)

    @property
    def whole(self) -> bool:
        """Whether this is the battery in full: only then what it misses is hidden."""
        return set(attacks()) == {a.name for a in self.chosen if not a.missing()}

    def effort(self, attack: Attack) -> Effort:
        return attack.effort.times(self.strength)


@dataclass(frozen=True)
class Result:
    """What one attack reached: the lowest margin in float64, and `found` if that is exact.

    `queries` counts points evaluated, `gradients` points whose gradient was taken. `note` says why
    an attack did not run, `defect` what ended it early, `undecided` what it found and exact
    arithmetic could not decide.
    """

    attack: str
    margin: float = math.inf
    found: Found | None = None
    queries: int = 0
    gradients: int = 0
    seconds: float = 0.0
    note: str = ""
    defect: str = ""
    undecided: str = ""

    @property
    def in_vain(self) -> str:
        """Why finding nothing says nothing here; empty if the attack was run and failed."""
        if self.note or self.found is not None:
            return self.note
        if self.defect:
            return f"ended early ({self.defect})"
        if self.undecided:
            return f"seems to violate, and exact arithmetic cannot tell ({self.undecided})"
        return "" if math.isfinite(self.margin) else "no margin was a finite number"


def run(
    network: Network | Runnable,
    specification: Specification,
    budget: Budget | None = None,
    device: str = "auto",
) -> tuple[Result, ...]:
    """All attacks of a budget on a question, in the order of their names."""
    budget = budget or Budget()
    function = _function(network, specification, device)
    return tuple(_attacked(function, attack, budget) for attack in budget.chosen)


def _function(
    network: Network | Runnable, specification: Specification, device: str
) -> MarginFunction | BlackBox:
    """With gradients where torch runs the network, a black box where only ONNX Runtime does."""
    if isinstance(network, Runnable):
        return BlackBox(network, specification.cases, f"torch cannot run {network.place}")
    try:
        return MarginFunction(network, specification.cases, device_named(device))
    except Unsupported as problem:
        return BlackBox(network, specification.cases, str(problem))


def _attacked(function: MarginFunction | BlackBox, attack: Attack, budget: Budget) -> Result:
    missing = attack.missing()
    if missing:
        return Result(attack.name, note=missing)
    if isinstance(function, BlackBox) and attack.gradients:
        return Result(attack.name, note=f"{NO_GRADIENTS}: {function.reason}")
    begun = time.perf_counter()
    found, failure = None, ""
    effort = budget.effort(attack).shared(len(function.cases))
    seen: list[Target] = []
    for case in range(len(function.cases)):
        seen.append(Target(function, case, budget.seed, attack.name))
        try:
            attack.run(seen[-1], effort)
        except Found as end:
            found = end
            break
        except Seen:
            break
        except AssayError:
            raise
        except Exception as error:  # mostly another package's: the other attacks still count
            failure = defect(error)
            break
    return Result(
        attack.name,
        min(target.margin for target in seen),
        found,
        sum(target.queries for target in seen),
        sum(target.gradients for target in seen),
        time.perf_counter() - begun,
        defect=failure,
        undecided="; ".join(target.undecided for target in seen if target.undecided),
    )
