"""Which promises are contradicted: by computation, by one question, or by all of them together.

* Exactly: where the error probability was computed and is above the promise.
* One question: the binomial tail of its errors, or the p-value of its test.
* All questions: errors of independent questions add up. Where every promise is kept their sum is
  stochastically at most a sum of binomial numbers (Poisson-binomial), whose tail is the p-value.
  P-values of independent questions are combined by Fisher's method.

Every p-value is at most x with probability at most x if the promise is kept, and a test accuses
below LEVEL divided by MOST_TESTS (or by the number of tests, where that is larger). So by the union
bound, whatever depends on what, a run accuses a correct analyser with probability at most LEVEL.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.stats import binom, chi2

from assay.analyse.calibration.measured import Measured

LEVEL = 1e-6
"""A run in which all promises are kept accuses any of them with at most this probability."""
MOST_TESTS = 10_000
"""The level is shared by so many tests: then a verdict does not depend on who else was measured."""
_LEAST = 1e-300
"""For the logarithm of a p-value that is zero."""

Ground = Literal["exact", "one question", "all questions"]
Group = tuple[str, str, str]


@dataclass(frozen=True)
class Accusation:
    """A promise that is contradicted, by these rows and on this ground.

    `chance` is the probability of such a result where the promise is kept; 0 on the exact ground.
    """

    ground: Ground
    rows: tuple[Measured, ...]
    chance: float

    @property
    def group(self) -> Group:
        return group_of(self.rows[0])

    @property
    def holds(self) -> bool:
        """Whether a theorem is contradicted: a defect of ours, or of the truth."""
        return self.rows[0].holds

    @property
    def sentence(self) -> str:
        row = self.rows[0]
        where = row.question if len(self.rows) == 1 else f"{len(self.rows)} questions together"
        head = f"{row.analyser} on {where}: {row.event}"
        if self.ground == "exact":
            exactly = f"probability {row.exact:.4g}, computed exactly"
            return f"{head} with {exactly}; {row.promised:g} is promised"
        chance = f"the chance of that is {max(self.chance, _LEAST):.1e}"
        if row.chance is not None:
            return f"{head} ({row.setting}); {chance}"
        errors, runs = sum(r.errors for r in self.rows), sum(r.runs for r in self.rows)
        counted = f"{head}: {errors:,} errors in {runs:,} runs where"
        if not row.promised:
            return f"{counted} none is allowed"
        return f"{counted} {row.promised:g} is promised; {chance}"


def group_of(row: Measured) -> Group:
    return row.analyser, row.event, row.setting


def accusations(rows: Sequence[Measured], level: float = LEVEL) -> list[Accusation]:
    """The promises that are contradicted; the exact ones first."""
    tested = [row for row in rows if row.promised is not None and row.runs]
    exact = [Accusation("exact", (row,), 0.0) for row in tested if row.exceeds]
    tests = [Accusation("one question", (row,), row.luck) for row in tested]
    tests += _together(tested)
    limit = level / max(MOST_TESTS, len(tests))
    return exact + [test for test in tests if test.chance < limit]


def blamed(found: Sequence[Accusation]) -> dict[Group, list[Accusation]]:
    """What stands against each analyser, event and setting.

    What all settings show together is held against each of them only if nothing tells them apart.
    """
    blame: dict[Group, list[Accusation]] = {}
    for wide in (False, True):
        before = {key[:2] for key in blame}
        for one in found:
            groups = {group_of(row) for row in one.rows}
            if (len(groups) > 1) == wide and not (wide and one.group[:2] in before):
                for group in groups:
                    blame.setdefault(group, []).append(one)
    return blame


def _together(rows: Sequence[Measured]) -> Iterator[Accusation]:
    """All questions of one analyser, event and setting; and over the settings, if none is twice."""
    groups: dict[tuple[str, ...], list[Measured]] = {}
    for row in rows:
        groups.setdefault(group_of(row), []).append(row)
        groups.setdefault((row.analyser, row.event), []).append(row)
    for key, group in groups.items():
        questions = {row.question for row in group}
        settings = {row.setting for row in group}
        again = len(key) == 2 and len(settings) == 1
        if len(questions) == len(group) > 1 and not again:
            yield Accusation("all questions", tuple(group), pooled_chance(group))


def pooled_chance(rows: Sequence[Measured]) -> float:
    """The p-value of independent rows together."""
    tests = [row.chance for row in rows if row.chance is not None]
    if tests:
        return fisher(tests)
    return poisson_binomial_tail(
        sum(row.errors for row in rows), [(row.runs, row.promised or 0.0) for row in rows]
    )


def poisson_binomial_tail(errors: int, parts: Sequence[tuple[int, float]]) -> float:
    """P(at least `errors`) for a sum of independent binomial numbers of these (runs, rate)."""
    runs: dict[float, int] = {}
    for count, rate in parts:
        runs[rate] = runs.get(rate, 0) + count
    if errors <= 0:
        return 1.0
    if len(runs) == 1:
        ((rate, count),) = runs.items()
        return float(binom.sf(errors - 1, count, rate))
    law = np.ones(1)
    *others, last = ((count, rate) for rate, count in runs.items())
    for count, rate in others:
        law = np.convolve(law, binom.pmf(np.arange(count + 1), count, rate))
    return float(np.dot(law, binom.sf(errors - 1 - np.arange(law.size), *last)))


def fisher(chances: Sequence[float]) -> float:
    """Fisher's combination of independent p-values."""
    statistic = -2 * math.fsum(math.log(max(chance, _LEAST)) for chance in chances)
    return float(chi2.sf(statistic, 2 * len(chances)))
