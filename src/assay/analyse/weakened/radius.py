"""How large may the ball be? Bisection over decisions (the paper's Algorithm 2, mended).

The midpoint is (low + high) / 2; the paper's (high - low) / 2 never ends. Every decision gets an
equal part of both errors, so that all of them together are right with the probability that was
asked for. Failure rates need not grow with the radius, though, so a bisection finds *a* radius at
which the verdict turns, not the largest robust one: what is proved is one verdict at each radius
that was tried. The found radius is asked again, on fresh samples, and so are a few below and above.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from assay.analyse.asked import Asked
from assay.analyse.decision import Verdict
from assay.analyse.promise import MOST_SAMPLES, Promise
from assay.analyse.rules import rule_for
from assay.analyse.weakened.decide import Decided, decide
from assay.errors import BadInput

CHECKS = (0.25, 0.5, 1.1, 1.25, 1.5, 2.0)
"""So many times the found radius is asked, too: a rate may rise and fall on either side of it."""

FINEST = 1e-12
"""The finest precision, as a part of the largest radius: rounding sets an end to halving."""

AskedAt = Callable[[float], Asked]
Heard = Callable[["Step"], None]


@dataclass(frozen=True)
class Step:
    """One decision on the way; `why` is "search" or "check"."""

    radius: float
    why: str
    decided: Decided

    @property
    def robust(self) -> bool:
        return self.decided.verdict is Verdict.ROBUST


@dataclass(frozen=True)
class Search:
    """Up to which radius to look, how finely, under which promise for all steps together."""

    upto: float
    precision: float
    promise: Promise
    method: str = "confidence-sequence"
    checks: Sequence[float] = CHECKS
    seed: int = 0
    budget: int = MOST_SAMPLES

    def __post_init__(self) -> None:
        if not (math.isfinite(self.upto) and self.upto > 0):
            raise BadInput(f"radius {self.upto:g} is no place to begin; give a number above 0")
        if not FINEST * self.upto <= self.precision < self.upto:
            raise BadInput(
                f"precision {self.precision:g} must lie between {FINEST * self.upto:g} and the "
                f"radius {self.upto:g}; give another"
            )

    @property
    def halvings(self) -> int:
        """So many are made, no more: the errors are divided by their number."""
        return math.ceil(math.log2(self.upto / self.precision))

    @property
    def decisions(self) -> int:
        """The most decisions that may be needed: the ends, the halvings and the checks."""
        return 1 + self.halvings + 1 + len(self.checks)

    @property
    def each(self) -> Promise:
        """What every single decision promises; the union bound gives the rest."""
        promise = self.promise
        share = self.decisions
        return replace(promise, alpha=promise.alpha / share, beta=promise.beta / share)


@dataclass(frozen=True)
class Radius:
    """`radius` is the largest one that the bisection called robust, 0 if none was.

    `turns_at` is the smallest radius above it that the bisection did not call robust, None if even
    the largest one was robust.
    """

    radius: float
    turns_at: float | None
    steps: tuple[Step, ...]
    search: Search

    @property
    def confirmed(self) -> bool:
        """Whether fresh samples at the found radius gave the same verdict."""
        return any(s.why == "check" and s.radius == self.radius and s.robust for s in self.steps)

    @property
    def robust_above(self) -> tuple[float, ...]:
        """Larger radii that were called robust although one in between was called not robust."""
        above = [s for s in self.steps if s.radius > self.radius]
        not_robust = [s.radius for s in above if s.decided.verdict is Verdict.NOT_ROBUST]
        first = min(not_robust, default=math.inf)
        return tuple(sorted({s.radius for s in above if s.robust and s.radius > first}))

    @property
    def not_robust_below(self) -> tuple[float, ...]:
        """Smaller radii that were called not robust: the found one is not the first to turn."""
        below = [s for s in self.steps if s.radius < self.radius]
        return tuple(sorted(s.radius for s in below if s.decided.verdict is Verdict.NOT_ROBUST))

    @property
    def falls(self) -> bool:
        """Whether intervals prove that a larger radius has a lower rate: no monotony here.

        Verdicts alone do not: between eps' and eps either is right.
        """
        ends = sorted((s.radius, *s.decided.interval) for s in self.steps)
        pairs = combinations(ends, 2)
        return any(low > high for (small, low, _), (large, _, high) in pairs if small < large)

    @property
    def sentences(self) -> Iterator[str]:
        """What is proved, and what is not."""
        promise, method = self.search.promise, self.steps[0].decided.rule
        if not method.holds:
            yield f"Nothing is proved: {method.theorem}"
            return
        errors = f"{promise.beta:g} (robust) and {promise.alpha:g} (not robust)"
        yield (
            f"Proved, for all {len(self.steps)} decisions together, with errors {errors}: a radius "
            f"called robust fails with a rate below {promise.eps:g}, one called not robust with a "
            f"rate above {promise.eps_inner:g}."
        )
        yield (
            "Not proved: anything about radii that were not tried, for a failure rate may fall "
            "again as the ball grows."
        )
        if self.not_robust_below:
            listed = _listed(self.not_robust_below)
            yield f"Below the found radius {listed} is not robust: it is not the first that turns."
        above = [s for s in self.steps if s.radius > self.radius]
        if self.robust_above:
            does = "It does so here" if self.falls else "It may do so here"
            yield f"{does}: {_listed(self.robust_above)} is robust again."
        elif any(s.robust for s in above):
            yield f"Robust as well: {_listed(sorted(s.radius for s in above if s.robust))}."
        elif above:
            yield "The radii above it that were tried are not robust, or not settled."


def _listed(radii: Sequence[float]) -> str:
    return ", ".join(f"{radius:g}" for radius in radii)


def largest_radius(asked_at: AskedAt, search: Search, heard: Heard | None = None) -> Radius:
    """Bisect; `asked_at` gives the question at a radius."""
    rule = rule_for(search.method, search.each)
    steps: list[Step] = []

    def step(radius: float, why: str) -> Step:
        asked, purpose = asked_at(radius), f"{why} {len(steps)}"
        found = decide(asked, rule, seed=search.seed, purpose=purpose, budget=search.budget)
        steps.append(Step(radius, why, found))
        if heard is not None:
            heard(steps[-1])
        return steps[-1]

    low, high = 0.0, search.upto
    turns_at = None if step(high, "search").robust else high
    if turns_at is None:
        low = high
    for _ in range(0 if turns_at is None else search.halvings):
        middle = (low + high) / 2
        if step(middle, "search").robust:
            low = middle
        else:
            high = turns_at = middle
    if low > 0:
        step(low, "check")
        for times in search.checks:
            step(low * times, "check")
    return Radius(low, turns_at, tuple(steps), search)
