"""Rules of one or two thresholds that tell unsolved from solved instances, and how likely the best
of them is by chance.

A rule says `G_IBP above 2000` or `G_IBP above 2000 and U below 0.2`. Its score is the correlation
of "the rule holds" with "went unsolved" (Matthews): one where it is right everywhere, zero where it
tells nothing. Every component, pair, direction and threshold of a grid is tried, so the best score
is high even where nothing is to be found; it is compared with the best scores of the same search
after the outcomes were shuffled, clusters of instances kept together (`clusters.py`). Rules of one
threshold are compared with their like only: among thousands of pairs, one is always perfect.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations
from math import prod

import numpy as np
import numpy.typing as npt

from assay.difficulty.cuts import bins_of, quantile_cuts, round_between
from assay.difficulty.ranks import Mask, Values

_PARTS = 20
_CLOSE = 1e-9


@dataclass(frozen=True)
class Clause:
    """A component at or above a threshold, or below it."""

    component: str
    above: bool
    threshold: float

    def holds(self, values: Values) -> Mask:
        return values >= self.threshold if self.above else values < self.threshold


@dataclass(frozen=True)
class Rule:
    """Clauses that all hold, the score, and how many of both sides they cover."""

    clauses: tuple[Clause, ...]
    score: float
    unsolved: int
    solved: int


@dataclass(frozen=True)
class _Grid:
    """Components as numbers of bins between cuts; those that never change are left out."""

    names: tuple[str, ...]
    cuts: Mapping[str, tuple[float, ...]]
    bins: Mapping[str, npt.NDArray[np.intp]]

    @classmethod
    def over(cls, values: Mapping[str, Values]) -> _Grid:
        cuts = {name: quantile_cuts(column, _PARTS) for name, column in values.items()}
        names = tuple(name for name in values if cuts[name])
        return cls(names, cuts, {name: bins_of(values[name], cuts[name]) for name in names})

    def only(self, names: Collection[str]) -> _Grid:
        return _Grid(tuple(name for name in self.names if name in names), self.cuts, self.bins)


@dataclass(frozen=True)
class _Scores:
    """The scores of a block of rules, one row a labelling; `sides` says which are above."""

    names: tuple[str, ...]
    sides: tuple[bool, ...]
    scores: Values


class RuleSearch:
    """All rules over the values of the components; `late` marks the unsolved instances.

    `named` are the components that rules may be about, all unless told. Shuffles are searched
    over all components nevertheless: leaving some out makes no rule look better than it is.
    """

    def __init__(
        self, values: Mapping[str, Values], late: Mask, named: Collection[str] | None = None
    ) -> None:
        self._values = values
        self._late = late
        self._grid = _Grid.over(values)
        self._own = self._grid if named is None else self._grid.only(named)

    def rules(self, clauses: int) -> int:
        """How many rules with so many clauses are tried."""
        sizes = [len(self._grid.cuts[name]) for name in self._grid.names]
        return int(2**clauses * sum(prod(chosen) for chosen in combinations(sizes, clauses)))

    def ranked(self, clauses: int) -> list[Rule]:
        """For every choice of so many components its best rule; the best of all comes first."""
        tops: dict[tuple[str, ...], tuple[float, tuple[Clause, ...]]] = {}
        for block in _blocks(self._own, self._late[None, :], clauses):
            place = np.unravel_index(int(block.scores[0].argmax()), block.scores[0].shape)
            score = float(block.scores[0][place])
            if block.names not in tops or score > tops[block.names][0] + _CLOSE:
                tops[block.names] = (
                    score,
                    tuple(
                        Clause(name, above, self._grid.cuts[name][cut])
                        for name, above, cut in zip(block.names, block.sides, place, strict=True)
                    ),
                )
        rules = [self._settled(found) for _, found in tops.values()]
        return sorted(rules, key=lambda rule: -round(rule.score, 9))

    def grid_score(self, clauses: int) -> float:
        """The best score of the grid, before any threshold is moved."""
        return float(_highest(self._own, self._late[None, :], clauses)[0])

    def chances(self, shuffles: Iterable[Mask], clauses: Sequence[int] = (1, 2)) -> list[float]:
        """How likely rules with so many clauses do as well after a shuffle of the outcomes.

        Shuffles come in batches, one a row. The real outcomes count as one of them.
        """
        real = [self.grid_score(number) for number in clauses]
        reached, tried = np.ones(len(clauses)), 1
        for labels in shuffles:
            for k, number in enumerate(clauses):
                reached[k] += (_highest(self._grid, labels, number) >= real[k] - _CLOSE).sum()
            tried += labels.shape[0]
        return [float(count) / tried for count in reached]

    def holds(self, rule: Rule) -> Mask:
        """Where all clauses of a rule hold."""
        return self._all(rule.clauses)

    def _all(self, clauses: Sequence[Clause]) -> Mask:
        everywhere = np.ones(self._late.size, bool)
        return reduce(
            np.logical_and, (c.holds(self._values[c.component]) for c in clauses), everywhere
        )

    def _settled(self, clauses: tuple[Clause, ...]) -> Rule:
        """Move one threshold after the other, between any two values, as long as it helps."""
        rule = self._counted(clauses)
        while True:
            before = rule
            for k, clause in enumerate(rule.clauses):
                others = rule.clauses[:k] + rule.clauses[k + 1 :]
                moved = self._moved(clause, self._all(others))
                changed = self._counted((*rule.clauses[:k], moved, *rule.clauses[k + 1 :]))
                rule = max(rule, changed, key=lambda found: round(found.score, 9))
            if rule.score <= before.score + _CLOSE:
                return self._wide(rule)

    def _wide(self, rule: Rule) -> Rule:
        """The same rule with thresholds as round as the instances between them allow."""
        clauses = list(rule.clauses)
        for k, clause in enumerate(clauses):
            column = self._values[clause.component][self._all(clauses[:k] + clauses[k + 1 :])]
            low, high = column[column < clause.threshold], column[column >= clause.threshold]
            if low.size and high.size:
                wide = round_between(float(low.max()), float(high.min()))
                clauses[k] = Clause(clause.component, clause.above, wide)
        return self._counted(tuple(clauses))

    def _moved(self, clause: Clause, rest: Mask) -> Clause:
        """The same clause at its best threshold among the instances where the others hold."""
        values, counts = np.unique(self._values[clause.component][rest], return_counts=True)
        if values.size < 2:
            return clause
        late = self._values[clause.component][rest & self._late]
        hits = np.bincount(np.searchsorted(values, late), minlength=values.size)
        covered, hit = np.cumsum(counts)[:-1], np.cumsum(hits)[:-1]
        if clause.above:
            covered, hit = counts.sum() - covered, hits.sum() - hit
        k = int(_scores(hit, covered, self._late.sum(), self._late.size).argmax())
        threshold = round_between(float(values[k]), float(values[k + 1]))
        return Clause(clause.component, clause.above, threshold)

    def _counted(self, clauses: tuple[Clause, ...]) -> Rule:
        covered = self._all(clauses)
        hits = int((covered & self._late).sum())
        both = int(covered.sum())
        score = _scores(np.array(hits), np.array(both), self._late.sum(), self._late.size)
        return Rule(clauses, float(score), hits, both - hits)


def _highest(grid: _Grid, labels: Mask, clauses: int) -> Values:
    highest = np.zeros(labels.shape[0])
    for block in _blocks(grid, labels, clauses):
        flat = block.scores.reshape(labels.shape[0], -1)
        np.maximum(highest, flat.max(axis=1), out=highest)
    return highest


def _blocks(grid: _Grid, labels: Mask, clauses: int) -> Iterator[_Scores]:
    """Scores of all rules with so many clauses; axes after the first go along the cuts."""
    rows, which = np.nonzero(labels)
    late = labels.sum(axis=1).reshape(-1, *(1,) * clauses)
    for names in combinations(grid.names, clauses):
        shape = tuple(len(grid.cuts[name]) + 1 for name in names)
        cells = np.ravel_multi_index([grid.bins[name] for name in names], shape)
        size = int(np.prod(shape))
        counts = np.bincount(cells, minlength=size).reshape(shape)
        hits = np.bincount(rows * size + cells[which], minlength=labels.shape[0] * size)
        hits = hits.reshape(-1, *shape)
        for number in range(2**clauses):
            sides = tuple(bool(number >> k & 1) for k in range(clauses))
            covered, hit = counts, hits
            for axis, above in enumerate(sides):
                covered, hit = _beyond(covered, axis, above), _beyond(hit, axis + 1, above)
            yield _Scores(names, sides, _scores(hit, covered, late, labels.shape[1]))


def _beyond(counts: npt.NDArray[np.intp], axis: int, above: bool) -> npt.NDArray[np.intp]:
    """Sums over the bins on one side of every cut along an axis."""
    if not above:
        found = np.cumsum(counts, axis=axis)
        return np.delete(found, -1, axis=axis)
    found = np.flip(np.cumsum(np.flip(counts, axis), axis=axis), axis)
    return np.delete(found, 0, axis=axis)


def _scores(
    hits: npt.NDArray[np.intp],
    covered: npt.NDArray[np.intp],
    late: npt.NDArray[np.intp],
    size: int,
) -> Values:
    """Correlations, from the unsolved instances that rules cover; zero where one side is empty."""
    spread = np.sqrt(covered * (size - covered) * 1.0) * np.sqrt(late * (size - late) * 1.0)
    return (size * hits - covered * late) / np.where(spread > 0, spread, np.inf)
