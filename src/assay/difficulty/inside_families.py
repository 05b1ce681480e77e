"""Whether a rule's components still tell unsolved from solved instances inside single families."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.difficulty.explanation import Point
from assay.difficulty.ranks import Mask, pairs_won
from assay.difficulty.rules import Clause, Rule

_TELLS = 0.6
Sides = tuple[tuple[Point, ...], tuple[Point, ...]]


@dataclass(frozen=True)
class InsideFamilies:
    """How many families there are; of those with both outcomes, solved and unsolved ones."""

    families: int
    mixed: tuple[Sides, ...]

    @classmethod
    def of(cls, cases: Sequence[Point], late: Mask) -> InsideFamilies:
        sides: dict[str, tuple[list[Point], list[Point]]] = defaultdict(lambda: ([], []))
        for case, unsolved in zip(cases, late, strict=True):
            sides[case.family][int(unsolved)].append(case)
        mixed = [(tuple(solved), tuple(slow)) for solved, slow in sides.values() if solved and slow]
        return cls(len(sides), tuple(mixed))

    def doubt(self, rule: Rule, families: str) -> str:
        """What the sentence must add where the rule may only tell families apart."""
        if self.families < 2:
            return ""
        if not self.mixed:
            return f"; but none of the {families} has both, so it may be another trait of theirs"
        silent = [
            f"{clause.component} tells nothing (AUC {self._auc(clause)[0]:.2f})"
            for clause in rule.clauses
            if self._toward(clause) < _TELLS
        ]
        if not silent:
            return ""
        return f"; but inside {families} {' and '.join(silent)}: it may be another trait of theirs"

    def details(self, rule: Rule, families: str) -> list[str]:
        if self.families < 2 or not self.mixed:
            return []
        said = []
        for clause in rule.clauses:
            found, pairs = self._auc(clause)
            said.append(
                f"inside {families} the AUC of {clause.component} is {found:.2f} ({pairs} pairs "
                f"of an unsolved and a solved instance, in {len(self.mixed)} of {self.families} "
                f"{families})"
            )
        return said

    def _toward(self, clause: Clause) -> float:
        """The AUC in the direction of the clause: one half where it tells nothing."""
        found, _ = self._auc(clause)
        return found if clause.above else 1 - found

    def _auc(self, clause: Clause) -> tuple[float, int]:
        won, pairs = 0.0, 0
        for solved, late in self.mixed:
            up, down = (
                np.array([c.values[clause.component] for c in side]) for side in (late, solved)
            )
            won, pairs = won + pairs_won(up, down), pairs + up.size * down.size
        return won / pairs, pairs
