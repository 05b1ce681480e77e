"""The detection floor: the smallest strength of a bug that a benchmark catches nearly always.

Nearly always: in at least 19 of 20 seeds. A seed decides the random choices of the bug and of the
verifier's own attack. The floor is sought by bisection of a fixed grid, on the assumption that
what is caught at one strength is caught at any larger one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from assay.judge.power.mutant import Specimen

GRID = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4)
SHARE = 0.95


@dataclass(frozen=True)
class Step:
    """How many seeds one strength was caught in, of those that were tried to the end.

    `died` counts the others: hunts whose process was ended.
    """

    strength: float
    caught: int
    tried: int
    died: int = 0

    def is_caught(self, seeds: int) -> bool | None:
        """Whether in nearly all of so many seeds; None where hunts that died leave it open."""
        if self.caught >= seeds - most_misses(seeds):
            return True
        return None if self.died and self.tried - self.caught <= most_misses(seeds) else False


@dataclass(frozen=True)
class Floor:
    """`strength` is None when not even the largest of the grid is caught, or when nobody knows:
    then `undecided` says why."""

    mutant: str
    symbol: str
    strength: float | None
    seeds: int
    steps: tuple[Step, ...]
    undecided: str = ""


def most_misses(seeds: int) -> int:
    """With how many missed seeds a strength still counts as caught."""
    return int(seeds * (1 - SHARE) + 1e-9)


def find_floor(
    specimen: Specimen,
    symbol: str,
    seeds: int,
    catches: Callable[[Specimen, Sequence[int]], Step],
) -> Floor:
    """`catches` hunts a specimen with these seeds; it may stop once too many have missed."""
    missed, caught = -1, len(GRID)
    steps = []
    while caught - missed > 1:
        middle = (missed + caught) // 2
        step = catches(specimen.at(GRID[middle]), range(seeds))
        steps.append(step)
        enough = step.is_caught(seeds)
        if enough is None:
            why = f"{step.died} of {seeds} hunts at {step.strength:g} died"
            return Floor(specimen.mutant.name, symbol, None, seeds, tuple(steps), why)
        missed, caught = (missed, middle) if enough else (middle, caught)
    strength = GRID[caught] if caught < len(GRID) else None
    return Floor(specimen.mutant.name, symbol, strength, seeds, tuple(steps))
