"""Is the failure rate of a region below eps? (The paper's Algorithm 1, with rules that hold.)

Samples are drawn in batches that grow, and end where a verdict is possible at the soonest; what is
decided, and after which sample, depends on the seed and the rule alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from assay.analyse.asked import Asked
from assay.analyse.decision import Decision, Rule, Verdict
from assay.analyse.promise import MOST_SAMPLES
from assay.analyse.trials import Trials
from assay.errors import BadInput

FIRST_BATCH = 64

Heard = Callable[[Sequence[Decision]], None]


@dataclass(frozen=True)
class Decided:
    """What a rule said; `verdict` is None when `budget` samples did not suffice.

    `drawn` counts the samples that went through the model, a few of them after the verdict;
    `seconds` are those of the whole decision, `model_seconds` those spent in the model.
    """

    rule: Rule
    verdict: Verdict | None
    samples: int
    failures: int
    drawn: int
    seconds: float
    model_seconds: float

    @cached_property
    def interval(self) -> tuple[float, float]:
        """Holds the failure rate with the rule's errors, whenever it stopped."""
        low, high = self.rule.interval(self.samples, self.failures)
        return float(low), float(high)


class FailureStream(Protocol):
    """Trials one after another: drawn from a model, or known from before."""

    drawn: int

    @property
    def rows(self) -> int: ...

    @property
    def seconds(self) -> float: ...

    def failed(self, count: int) -> NDArray[np.bool_]:
        """Which of the next trials fail."""
        ...


def decide(
    asked: Asked,
    rule: Rule,
    *,
    seed: int = 0,
    purpose: str = "",
    budget: int = MOST_SAMPLES,
    heard: Heard | None = None,
) -> Decided:
    """One decision."""
    return decide_all(asked, [rule], seed=seed, purpose=purpose, budget=budget, heard=heard)[0]


def decide_all(
    asked: Asked,
    rules: Sequence[Rule],
    *,
    seed: int = 0,
    purpose: str = "",
    budget: int = MOST_SAMPLES,
    heard: Heard | None = None,
) -> list[Decided]:
    """Several decisions from the same samples; each keeps its own promise."""
    if budget < 1:
        raise BadInput(f"a budget of {budget} samples decides nothing; give at least 1")
    return decide_stream(Trials(asked, seed, purpose), rules, budget=budget, heard=heard)


def decide_stream(
    trials: FailureStream,
    rules: Sequence[Rule],
    *,
    budget: int = MOST_SAMPLES,
    heard: Heard | None = None,
) -> list[Decided]:
    """The decisions that these trials lead to."""
    begun, spent = time.perf_counter(), trials.seconds
    decisions = [Decision(rule) for rule in rules]
    while True:
        open_ones = [d for d in decisions if d.verdict is None]
        batch = _batch(open_ones, trials.drawn, trials.rows, budget)
        if not batch:
            break
        failed = trials.failed(batch)
        for decision in open_ones:
            decision.feed(failed)
        if heard is not None:
            heard(decisions)
    seconds = time.perf_counter() - begun
    return [
        Decided(
            decision.rule,
            decision.verdict,
            decision.samples,
            decision.failures,
            trials.drawn,
            seconds,
            trials.seconds - spent,
        )
        for decision in decisions
    ]


def _batch(open_ones: Sequence[Decision], drawn: int, rows: int, budget: int) -> int:
    """How many samples to draw next; none when all is decided or the budget is spent."""
    if not open_ones:
        return 0
    # Few failures are the usual case: no more samples than then are needed by all of them.
    needed = max(_to_acceptance(decision, drawn) for decision in open_ones)
    return min(max(FIRST_BATCH, drawn), max(rows, FIRST_BATCH), needed, budget - drawn)


def _to_acceptance(decision: Decision, drawn: int) -> int:
    """How many further samples, none of which fails, would make the rule say robust."""
    horizon = max(4 * FIRST_BATCH, 2 * drawn)
    bounds = decision.rule.between(drawn, drawn + horizon)
    enough = bounds.accept_at >= decision.failures
    return int(bounds.at[enough.argmax()]) - drawn if enough.any() else horizon
