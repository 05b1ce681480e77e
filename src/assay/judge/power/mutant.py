"""What a mutant declares, and how its bug is switched on and off again.

A mutant is the built-in linear verifier with one part swapped for a broken one: an attribute of a
module or class, or an entry of a table. Production code knows nothing of it. A swap is in force
only inside `applied`, which is entered in a process of its own or in a worker, never in a caller.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Literal

from assay.errors import BadInput
from assay.part_swap import part_swapped
from assay.question.network import Network

BugClass = Literal[
    "average pool",
    "dropped domains",
    "shrunk or stale bounds",
    "one disjunct wins",
    "almost fixed",
    "operator misread",
    "external solver",
    "tolerance",
    "timeout or crash",
    "relaxation",
]
"""The ten classes of bugs that were seen in verifiers in the wild."""


@dataclass(frozen=True)
class Setting:
    """What a broken part may depend on: the strength of the bug and its own dice."""

    strength: float
    dice: random.Random


NOTHING = Setting(0.0, random.Random(0))
"""For swaps that are no bugs."""


@dataclass(frozen=True)
class Swap:
    """`make(original, setting)` takes the place of `owner`'s `attribute`.

    `owner` is a module, or `module:Name` for something in it; of a table, `attribute` is the key,
    and a key that is not there yet (original None) is added. `touches` says of a network whether
    the broken part can differ there at all.
    """

    owner: str
    attribute: str
    make: Callable[[Any, Setting], Any]
    touches: Callable[[Network], bool] = lambda _network: True


@dataclass(frozen=True)
class Mutant:
    """A verifier with a bug.

    `wrongly` is the wrong answer that the bug can lead to. `strength` is the usual one, None where
    the bug is there or not. Only networks with one of the `operators` can show it; none: any.
    `symbol` is what the literature calls the strength; such a mutant has a detection floor.
    """

    name: str
    bug: BugClass
    story: str
    swaps: tuple[Swap, ...]
    wrongly: Literal["robust", "violated"] = "robust"
    strength: float | None = None
    operators: frozenset[str] = frozenset()
    symbol: Literal["alpha", "beta"] | None = None

    def touches(self, network: Network) -> bool:
        return any(swap.touches(network) for swap in self.swaps)


@dataclass(frozen=True)
class Specimen:
    """A mutant at one strength, as tables and results name it."""

    mutant: Mutant
    strength: float | None

    @property
    def name(self) -> str:
        if self.strength is None:
            return self.mutant.name
        return f"{self.mutant.name}@{self.strength:g}"

    def at(self, strength: float) -> Specimen:
        if self.mutant.strength is None:
            raise BadInput(f"{self.mutant.name} has no strength; name it without '@'")
        if not (math.isfinite(strength) and 0 < strength <= 1):
            raise BadInput(f"strength {strength:g} of {self.mutant.name} is not in (0, 1]")
        return Specimen(self.mutant, strength)


@contextmanager
def applied(specimen: Specimen, seed: int = 0, about: str = "") -> Iterator[None]:
    """The verifier of this process has the bug; `seed` decides its random choices.

    `about` names the question: a bug is not lucky at the same step of every search.
    """
    dice = random.Random(f"{specimen.name} {seed} {about}")
    setting = Setting(specimen.strength or 0.0, dice)
    with ExitStack() as undo:
        for swap in specimen.mutant.swaps:
            undo.enter_context(swapped(swap, setting))
        yield


@contextmanager
def swapped(swap: Swap, setting: Setting) -> Iterator[None]:
    with part_swapped(swap.owner, swap.attribute, lambda part: swap.make(part, setting)):
        yield
