"""The decision rules: how often is what `assay weakened decide` prints wrong at a known rate?

Two promises meet the truth. Under eps = p the question is not robust, and `robust` is an error of
type II; under eps' = p it is as good as asked, and `not robust` is one of type I. Between eps'
and eps lies a factor of two, or of ten where the budget does not allow two. Under both, the
interval that is printed beside the verdict must hold p, although sampling stopped when it did.

Dynamic programming gives the probabilities of the errors of the very boundaries and intervals,
without any luck: a rule fails if they are above what it prints. Running it on random inputs then
tests that sampler, network and counting behave as a coin of rate p, and stop as they should.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from assay.analyse.binomial import smallest_test
from assay.analyse.calibration.analyser import Analyser
from assay.analyse.calibration.known import Effort, KnownQuestion, Replay
from assay.analyse.calibration.laws import discrete_chance
from assay.analyse.calibration.measured import Measured
from assay.analyse.decision import Rule, Verdict
from assay.analyse.method import Method
from assay.analyse.promise import Promise
from assay.analyse.rules import methods, rule_for
from assay.analyse.stopping import Operation, Stops, operation, stops
from assay.analyse.weakened.decide import Decided, decide_stream

SAYS_ROBUST, SAYS_NOT_ROBUST = "says robust at eps = p", "says not robust at eps' = p"
INTERVAL_MISSES = "the interval at the stop misses p"
STOPS_ELSEWHERE = "stops after other numbers of samples"
PRINTS_OTHERS = "states an exact error that is another"
ZONES = (2, 10)
FEWEST_REPEATS = 50
"""Fewer tell nothing, even when many questions are taken together."""
_MOST_LOOKS = 2**16
"""Rules that look more often are not followed exactly: that would take longer than to run them."""
_MOST_STOPS = 4_096
"""The intervals of longer rules are not computed at every stop: each takes a bisection."""
_SAME_ERROR = 1e-6
"""Relative: stated errors are compared to the six digits that nobody prints."""


@dataclass(frozen=True)
class Trap:
    """A promise under which the known rate has one wrong verdict."""

    event: str
    setting: str
    promise: Promise
    wrong: Verdict
    repeats: int

    @property
    def rate(self) -> float:
        """The rate of the promise that the true one is not on the right side of."""
        return self.promise.eps if self.wrong is Verdict.ROBUST else self.promise.eps_inner

    @property
    def end(self) -> str:
        """The end of the indifference zone that the rate lies at."""
        return "eps = p" if self.wrong is Verdict.ROBUST else "eps' = p"


def traps(question: KnownQuestion, effort: Effort) -> Iterator[Trap | str]:
    """The two promises; a sentence in the place of one that the budget does not allow."""
    for robust in (True, False):
        yield _affordable(question, effort, says_robust=robust)


def _affordable(question: KnownQuestion, effort: Effort, *, says_robust: bool) -> Trap | str:
    needed, fewest = 0, min(FEWEST_REPEATS, effort.repeats)
    for zone in ZONES:
        if says_robust:
            low, high = question.at_most / zone, question.at_most
            event, setting = SAYS_ROBUST, f"eps' = p/{zone}"
            wrong = Verdict.ROBUST
        else:
            low, high = question.at_least, zone * question.at_least
            event, setting = SAYS_NOT_ROBUST, f"eps = {zone} p"
            wrong = Verdict.NOT_ROBUST
        if high >= 1:
            continue
        promise = Promise(high, low, effort.error, effort.error)
        needed = smallest_test(promise).samples
        repeats = effort.repeats_of(needed)
        if repeats >= fewest:
            return Trap(event, setting, promise, wrong, repeats)
    if not needed:
        return f"{ZONES[0]} p is no failure rate: there is no eps to promise"
    return f"{effort.samples:.3g} samples do not pay for {fewest} repeats of about {needed:.2g}"


def measure(method: Method, question: KnownQuestion, effort: Effort) -> tuple[Measured, ...]:
    """All that one rule prints, under both promises."""
    rows: list[Measured] = []
    for event, trap in zip((SAYS_ROBUST, SAYS_NOT_ROBUST), traps(question, effort), strict=True):
        if isinstance(trap, Trap):
            rows += _measured(method, question, trap)
        else:
            rows.append(
                Measured(
                    name_of(method),
                    question.name,
                    event,
                    "",
                    effort.error,
                    method.holds,
                    left_out=trap,
                )
            )
    return tuple(rows)


def _measured(method: Method, question: KnownQuestion, trap: Trap) -> Iterator[Measured]:
    rule = remembered(rule_for(method.name, trap.promise))
    ends = [_decided(rule, question, repeat) for repeat in range(trap.repeats)]
    samples = np.array([end.samples for end in ends])
    # as `Decided.interval` does, all at once
    intervals = zip(*rule.interval(samples, [end.failures for end in ends]), strict=True)
    looks = rule.between(0, rule.last).at.size
    exact = operation(rule.between, trap.rate, rule.last) if looks <= _MOST_LOOKS else None
    verdict = Measured(
        name_of(method),
        question.name,
        trap.event,
        trap.setting,
        _promised(rule, trap),
        rule.holds,
        runs=trap.repeats,
        errors=sum(end.verdict is trap.wrong for end in ends),
        samples=float(samples.mean()),
        most_samples=int(samples.max()),
        expected_samples=None if exact is None else exact.samples,
        exact=None if exact is None else _wrong(exact, trap),
    )
    yield verdict
    law = stops(rule.between, trap.rate, rule.last) if rule.last <= _MOST_STOPS else None
    yield replace(
        verdict,
        event=INTERVAL_MISSES,
        setting=trap.end,
        promised=min(trap.promise.alpha + trap.promise.beta, rule.interval_error),
        holds=True,
        errors=sum(question.misses(float(low), float(high)) for low, high in intervals),
        exact=None if law is None else _interval_error(rule, trap.rate, law),
    )
    if law is not None:
        yield replace(
            verdict,
            event=STOPS_ELSEWHERE,
            setting=trap.end,
            promised=0.0,
            holds=True,
            errors=0,
            exact=None,
            chance=_stopping_chance(question, samples, law),
        )
    if rule.exact_errors is not None and verdict.exact is not None:
        stated = rule.exact_errors[trap.wrong is Verdict.ROBUST]
        same = math.isclose(stated, verdict.exact, rel_tol=_SAME_ERROR, abs_tol=1e-12)
        yield replace(
            verdict,
            event=PRINTS_OTHERS,
            setting=trap.end,
            promised=0.0,
            holds=True,
            runs=1,
            errors=int(not same),
            exact=None,
            figures={"stated": stated, "exact": verdict.exact},
        )


def _promised(rule: Rule, trap: Trap) -> float:
    """What is printed, and was asked for: a rule may not print more than that."""
    if trap.wrong is Verdict.ROBUST:
        return min(trap.promise.beta, rule.promise.beta)
    return min(trap.promise.alpha, rule.promise.alpha)


def _wrong(exact: Operation, trap: Trap) -> float:
    return exact.robust if trap.wrong is Verdict.ROBUST else exact.not_robust


def _interval_error(rule: Rule, rate: float, law: Stops) -> float:
    """The probability that the interval misses the rate when the rule stops."""
    lower, upper = rule.interval(law.samples, law.failures)
    return float(law.mass[(upper < rate) | (lower > rate)].sum())


def _stopping_chance(question: KnownQuestion, samples: NDArray[np.int64], law: Stops) -> float:
    """Whether runs stop when the boundaries say: the p-value of their numbers of samples."""
    last = int(law.samples.max())
    masses = np.zeros(last + 1)
    np.add.at(masses, law.samples, law.mass)
    # coins of two rates differ in n tosses with at most n times the difference of the rates
    slack = last * (question.at_least - question.at_most) + law.lost
    return discrete_chance(samples, masses, slack)


def _decided(rule: Rule, question: KnownQuestion, repeat: int) -> Decided:
    (found,) = decide_stream(Replay(question.record(repeat)), [rule], budget=rule.last)
    return found


def remembered(rule: Rule) -> Rule:
    """The same rule with all its boundaries at hand."""
    whole = rule.between(0, rule.last)
    return replace(rule, between=whole.part)


def name_of(method: Method) -> str:
    return f"decide-{method.name}"


def _analyser(method: Method) -> Analyser:
    kept = "" if method.holds else " (its own claim; no theorem)"
    promise = (
        f"either wrong verdict comes with probability at most the error asked for{kept}; the "
        "interval printed at the stop misses the rate with at most the sum of both"
    )
    return Analyser(name_of(method), "decision", promise, method.holds, partial(measure, method))


ANALYSERS = tuple(_analyser(method) for method in methods().values())
