"""Robustness curves: which share of a data set is weakly robust at each radius (Figs. 3 and 4).

Every input gets a decision of its own, on random numbers of its own. Over inputs that are drawn
independently from a population, let A be the share whose rate is below eps and A' the share whose
rate is at most eps'. An input is called robust with probability at most A + beta (1 - A), and at
least (1 - alpha) A'. So an interval [low, high] for the share that is called robust
(Clopper-Pearson) gives

    A >= (low - beta) / (1 - beta)      and      A' <= high / (1 - alpha),

each with half of what the interval may err; undecided inputs count as not robust in the first and
as robust in the second.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.analyse.binomial import clopper_pearson
from assay.analyse.decision import Verdict
from assay.analyse.promise import Promise

ROBUST, NOT_ROBUST, UNDECIDED = Verdict.ROBUST.value, Verdict.NOT_ROBUST.value, "undecided"


@dataclass(frozen=True)
class InputDecision:
    """What was said about one input at one radius and eps."""

    name: str
    label: int
    correct: bool
    radius: float
    eps: float
    verdict: str
    samples: int
    failures: int


@dataclass(frozen=True)
class CurvePoint:
    """The share called robust, and what follows for the population with this confidence."""

    radius: float
    promise: Promise
    inputs: int
    robust: int
    undecided: int
    least_below_eps: float
    most_below_inner: float

    @property
    def share(self) -> float:
        return self.robust / self.inputs


def curve_points(
    decisions: Sequence[InputDecision],
    promises: Sequence[Promise],
    confidence: float,
    *,
    holds: bool = True,
) -> list[CurvePoint]:
    """One point a radius and eps; the confidence is that of each point by itself.

    A rule whose promise does not hold gives no bounds: they are then 0 and 1.
    """
    found = []
    for promise in promises:
        mine = [d for d in decisions if d.eps == promise.eps]
        for radius in sorted({d.radius for d in mine}):
            here = [d.verdict for d in mine if d.radius == radius]
            robust, undecided = here.count(ROBUST), here.count(UNDECIDED)
            low = float(clopper_pearson(robust, len(here), confidence)[0])
            high = float(clopper_pearson(robust + undecided, len(here), confidence)[1])
            least = max(0.0, (low - promise.beta) / (1 - promise.beta)) if holds else 0.0
            most = min(1.0, high / (1 - promise.alpha)) if holds else 1.0
            found.append(CurvePoint(radius, promise, len(here), robust, undecided, least, most))
    return found
