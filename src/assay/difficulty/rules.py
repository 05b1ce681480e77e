"""Rules of one or two thresholds that tell timeouts from solved instances, and how likely the best
of them is by chance.

A rule says `G_IBP above 2000` or `G_IBP above 2000 and U below 0.2`. Its score is the correlation
of "the rule holds" with "timed out" (Matthews): one where it is right everywhere, zero where it
tells nothing. Every component, pair, direction and threshold of a grid is tried, so the best score
is high even where nothing is to be found; it is compared with the best scores of the same search
after the outcomes were shuffled.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations

import numpy as np
import numpy.typing as npt

from assay.difficulty.cuts import bins_of, quantile_cuts, round_between
from assay.difficulty.ranks import Mask, Values

_PARTS = 20
_BATCH = 400_000
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
    timeouts: int
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


@dataclass(frozen=True)
class _Scores:
    """The scores of a block of rules, one row a labelling; `sides` says which are above."""

    names: tuple[str, ...]
    sides: tuple[bool, ...]
    scores: Values


class RuleSearch:
    """All rules over the values of the components; `late` marks the timeouts."""

    def __init__(self, values: Mapping[str, Values], late: Mask) -> None:
        self._values = values
        self._late = late
        self._grid = _Grid.over(values)

    @property
    def rules(self) -> int:
        """How many rules are tried."""
        sizes = [len(self._grid.cuts[name]) for name in self._grid.names]
        return 2 * sum(sizes) + 4 * sum(a * b for a, b in combinations(sizes, 2))

    def ranked(self, clauses: int) -> list[Rule]:
        """For every choice of so many components its best rule; the best of all comes first."""
        tops: dict[tuple[str, ...], tuple[float, tuple[Clause, ...]]] = {}
        for block in _blocks(self._grid, self._late[None, :], clauses):
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
        return float(_highest(self._grid, self._late[None, :], (clauses,))[0])

    def shuffled(
        self, permutations: int, rng: np.random.Generator, within: Rule | None = None
    ) -> Values:
        """The best scores of the whole grid after so many shuffles of the outcomes.

        `within` shuffles only among instances where a rule holds, and among the others: what is
        found then is what chance adds to that rule.
        """
        size = self._late.size
        apart = np.zeros(size, bool) if within is None else self.holds(within)
        strata = [part for part in (np.flatnonzero(apart), np.flatnonzero(~apart)) if part.size]
        batch = max(1, _BATCH // max(size, 4 * _PARTS * _PARTS))
        found = []
        for begin in range(0, permutations, batch):
            rows = min(batch, permutations - begin)
            labels = np.empty((rows, size), bool)
            for part in strata:
                labels[:, part] = rng.permuted(np.tile(self._late[part], (rows, 1)), axis=1)
            found.append(_highest(self._grid, labels, (1, 2)))
        return np.concatenate(found)

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
        weight, offset = _weights(covered, self._late.size, int(self._late.sum()))
        k = int((hit * weight - offset).argmax())
        threshold = round_between(float(values[k]), float(values[k + 1]))
        return Clause(clause.component, clause.above, threshold)

    def _counted(self, clauses: tuple[Clause, ...]) -> Rule:
        covered = self._all(clauses)
        hits = int((covered & self._late).sum())
        both = int(covered.sum())
        weight, offset = _weights(np.array([both]), self._late.size, int(self._late.sum()))
        return Rule(clauses, float(hits * weight[0] - offset[0]), hits, both - hits)


def chance(score: float, shuffled: Values) -> float:
    """The p-value of a best score among those of shuffled outcomes."""
    return float(1 + (shuffled >= score - _CLOSE).sum()) / (1 + shuffled.size)


def _highest(grid: _Grid, labels: Mask, clauses: Sequence[int]) -> Values:
    highest = np.zeros(labels.shape[0])
    for number in clauses:
        for block in _blocks(grid, labels, number):
            flat = block.scores.reshape(labels.shape[0], -1)
            np.maximum(highest, flat.max(axis=1), out=highest)
    return highest


def _blocks(grid: _Grid, labels: Mask, clauses: int) -> Iterator[_Scores]:
    """Scores of all rules with so many clauses; axes after the first go along the cuts."""
    rows, which = np.nonzero(labels)
    late = int(labels[0].sum())
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
            weight, offset = _weights(covered, labels.shape[1], late)
            yield _Scores(names, sides, hit * weight - offset)


def _beyond(counts: npt.NDArray[np.intp], axis: int, above: bool) -> npt.NDArray[np.intp]:
    """Sums over the bins on one side of every cut along an axis."""
    if not above:
        found = np.cumsum(counts, axis=axis)
        return np.delete(found, -1, axis=axis)
    found = np.flip(np.cumsum(np.flip(counts, axis), axis=axis), axis)
    return np.delete(found, 0, axis=axis)


def _weights(covered: npt.NDArray[np.intp], size: int, late: int) -> tuple[Values, Values]:
    """What turns the timeouts that a rule covers into its score: `hits * weight - offset`."""
    spread = covered * (size - covered) * float(late * (size - late))
    scale = 1 / np.sqrt(np.where(spread > 0, spread, np.inf))
    return size * scale, covered * late * scale
