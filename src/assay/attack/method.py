"""What an attack declares: its name, what it does, and how much of it one strength is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from assay.attack.target import Target


@dataclass(frozen=True)
class Effort:
    """So many restarts (or points) of so many steps each."""

    restarts: int
    steps: int = 1

    def times(self, strength: int) -> Effort:
        """`strength` times as much: twice the steps where there are steps, the rest restarts."""
        if self.steps == 1 or strength < 2:
            return replace(self, restarts=self.restarts * strength)
        return Effort(-(-self.restarts * strength // 2), 2 * self.steps)

    def shared(self, boxes: int) -> Effort:
        """The part of it for each of so many boxes."""
        return replace(self, restarts=-(-self.restarts // boxes))


def nothing_missing() -> str:
    return ""


@dataclass(frozen=True)
class Attack:
    """`run(target, effort)` queries the target until it is done or `Found` ends it.

    `effort` is that of strength one. `missing` says how to get what the attack needs, if it is not
    there.
    """

    name: str
    summary: str
    effort: Effort
    run: Callable[[Target, Effort], None]
    missing: Callable[[], str] = nothing_missing
    gradients: bool = True
    """Whether it needs them; without, it attacks whatever ONNX Runtime runs."""
