"""What a score consists of: rows of counts, findings, rankings and comparisons; nothing moves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from assay.errors import BadInput
from assay.judge.outcome import Outcome
from assay.judge.significance import Comparison
from assay.judge.vnncomp_score import Standing, Year

Group = Literal["float32", "real", "no truth"]
GROUPS: tuple[Group, ...] = ("float32", "real", "no truth")
ALL_FAMILIES = "all"
VIRTUAL_BEST = "virtual best"


@dataclass(frozen=True)
class Row:
    """One verifier on one family (or `all`) within one group of instances.

    `by_class` breaks an outcome up by the class of the witness, for the outcomes that say
    violated. `solved_s` is the sum of the times on solved instances; `par2_s` the mean time where
    every other instance, run or not, costs twice its limit (None if a limit is not known).
    """

    verifier: str
    family: str
    group: Group
    instances: int
    not_run: int
    disagree: int
    counts: Mapping[Outcome, int]
    by_class: Mapping[Outcome, Mapping[str, int]]
    solved: int
    solved_s: float
    par2_s: float | None
    fastest: int
    only: int

    def count(self, outcome: Outcome) -> int:
        return self.counts.get(outcome, 0)


@dataclass(frozen=True)
class Finding:
    """One answer that the verifier's author should look at."""

    verifier: str
    instance: str
    family: str
    group: Group
    outcome: Outcome
    witness: str
    wall_s: float


@dataclass(frozen=True)
class Split:
    """An instance without truth on which the verifiers do not agree."""

    instance: str
    robust: tuple[str, ...]
    violated: tuple[str, ...]
    proven_violated: bool


@dataclass(frozen=True)
class Scores:
    """Everything that the score says; `faults.failures` reads the exit code off it.

    Of all `tasks` that were asked, `not_run` have no result and count as unsolved; `incomplete`
    is the sentence that says so, empty when nothing is missing.
    """

    year: Year
    verifiers: tuple[str, ...]
    rows: tuple[Row, ...]
    findings: tuple[Finding, ...]
    splits: tuple[Split, ...]
    ranking: Mapping[Group, tuple[Standing, ...]]
    comparisons: Mapping[Group, tuple[Comparison, ...]]
    tasks: int
    not_run: int
    incomplete: str

    @property
    def unsound(self) -> tuple[Finding, ...]:
        """Proven wrong proofs, knife-edge instances left out."""
        return tuple(f for f in self.findings if f.outcome == "unsound" and f.group == "float32")

    @property
    def groups(self) -> tuple[Group, ...]:
        present = {row.group for row in self.rows}
        return tuple(group for group in GROUPS if group in present)

    def row(self, verifier: str, group: Group = "float32", family: str = ALL_FAMILIES) -> Row:
        for row in self.rows:
            if (row.verifier, row.group, row.family) == (verifier, group, family):
                return row
        raise BadInput(f"there is no score of {verifier} for {family} ({group}); check the names")
