"""The search: round after round of all passes, until nothing more can go or the budget is spent.

A pass is tried on all of its places, then on halves, quarters and so on down to single ones. A
candidate is taken when it is smaller, its truth is proved, and the tool is wrong about it in the
same way. With several jobs the next candidates are asked about at the same time, and the first in
order that holds is taken, so that the result does not depend on the number of jobs.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from assay.errors import AssayError
from assay.judge.outcome import Outcome
from assay.judge.witness import parsed_witness
from assay.shrink.asking import Answered, Asker
from assay.shrink.draft import Draft
from assay.shrink.proving import Proved, Prover
from assay.shrink.reduction import Reduction
from assay.shrink.size import Size, measure, size


class ShrinkWatcher:
    """Hears how it goes; this one ignores it, the command line shows it."""

    def now(self, now: Size, calls: int, doing: str) -> None:
        """The question has this size after so many calls of the tool."""

    def note(self, sentence: str) -> None:
        """Something a person should know."""


class BudgetSpent(Exception):
    """No more calls, or no more time: `limit` says which, as the options name them."""

    def __init__(self, limit: Literal["budget", "calls"]) -> None:
        super().__init__(limit)
        self.limit = limit


@dataclass(frozen=True)
class Budget:
    """Seconds and calls of the tool in the search; None is no limit."""

    seconds: float | None = None
    calls: int | None = None


@dataclass
class Search:
    """`trail` holds all accepted drafts, the best last, and `names` the passes between them."""

    prover: Prover
    wrong: Outcome
    asker: Asker
    budget: Budget
    watcher: ShrinkWatcher
    trail: list[Proved]
    names: list[str] = field(default_factory=list)
    begun: float = field(default_factory=time.monotonic)
    calls_before: int = field(init=False)

    def __post_init__(self) -> None:
        self.calls_before = self.asker.calls

    @property
    def best(self) -> Proved:
        return self.trail[-1]

    @property
    def taken(self) -> dict[str, int]:
        """The steps by pass."""
        return dict(Counter(self.names))

    def undo(self) -> None:
        """Forget the last step."""
        self.trail.pop()
        self.names.pop()

    def run(self, passes: Sequence[Reduction]) -> None:
        """To the fixpoint; raises BudgetSpent where that is further than the budget."""
        while True:
            before = len(self.trail)
            for reduction in passes:
                self._sweep(reduction)
            if len(self.trail) == before:
                return

    def _sweep(self, reduction: Reduction) -> None:
        chunk = self._places(reduction)
        while chunk >= 1:
            position = self._places(reduction)
            while position > 0:
                self._show(reduction)
                position = self._step(reduction, chunk, position)
            chunk //= 2

    def _step(self, reduction: Reduction, chunk: int, position: int) -> int:
        """Try the next ranges below `position`; return where to go on."""
        ranges: list[int] = []
        candidates: list[Proved] = []
        at_once = min(self.asker.jobs, self._calls_left() or 1)
        while position > 0 and len(candidates) < at_once:
            start = max(0, position - chunk)
            found = self._candidate(reduction, start, position)
            if found is not None:
                ranges.append(start)
                candidates.append(found)
            position = start
        if not candidates:
            return position
        self._refuse_overspending()
        answers = self.asker.asked([c.instance for c in candidates])
        for start, candidate, answered in zip(ranges, candidates, answers, strict=True):
            if answered.outcome == self.wrong:
                self.trail.append(self._aimed(candidate, answered))
                self.names.append(reduction.name)
                return min(start, self._places(reduction))
        return position

    def _candidate(self, reduction: Reduction, start: int, stop: int) -> Proved | None:
        draft = self.best.draft
        try:
            tried = reduction.apply(draft, start, stop)
            if tried is None or not measure(tried) < measure(draft):
                return None
        except (AssayError, OverflowError):
            return None  # steps that do not fit together, numbers beyond float32
        return self.prover.proved(tried)

    def _aimed(self, found: Proved, answered: Answered) -> Proved:
        """Of a robust question the point is what the tool takes for a violation."""
        if self.prover.answer == "violated":
            return found
        return Proved(aimed(found.draft, answered.witness), found.instance)

    def _places(self, reduction: Reduction) -> int:
        try:
            return reduction.places(self.best.draft)
        except AssayError:
            return 0

    def _refuse_overspending(self) -> None:
        seconds = self.budget.seconds
        if seconds is not None and time.monotonic() - self.begun > seconds:
            raise BudgetSpent("budget")
        if not self._calls_left():
            raise BudgetSpent("calls")

    def _calls_left(self) -> int:
        if self.budget.calls is None:
            return self.asker.jobs
        return max(0, self.budget.calls - (self.asker.calls - self.calls_before))

    def _show(self, reduction: Reduction) -> None:
        self.watcher.now(size(self.best.draft), self.asker.calls, reduction.name)


def aimed(draft: Draft, witness: Sequence[str] | None) -> Draft:
    """The draft with the point that a witness names, moved into the box; as it was without one."""
    point = parsed_witness(witness, draft.network.inputs)
    return draft if point is None else replace(draft, point=draft.case.box.nearest(point))
