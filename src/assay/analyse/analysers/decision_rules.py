"""The decision rules: how often do they give the wrong verdict about a rate that is known?

Two promises meet the truth. Under eps = p the question is not robust, and `robust` is an error of
type II; under eps' = p it is as good as asked, and `not robust` is one of type I. Between eps'
and eps lies a factor of two, or of ten where the budget does not allow two.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from assay.analyse.binomial import smallest_test
from assay.analyse.calibration.analyser import Analyser
from assay.analyse.calibration.known import (
    FIRST_TRIALS,
    MOST_TRIALS_AT_ONCE,
    Effort,
    FailureRecord,
    KnownQuestion,
)
from assay.analyse.calibration.measured import Measured
from assay.analyse.decision import Decision, Rule, Verdict
from assay.analyse.method import Method
from assay.analyse.promise import Promise
from assay.analyse.rules import methods, rule_for
from assay.analyse.stopping import operation

SAYS_ROBUST, SAYS_NOT_ROBUST = "says robust at eps = p", "says not robust at eps' = p"
ZONES = (2, 10)
FEWEST_REPEATS = 50
"""Fewer tell nothing, even when many questions are taken together."""
_MOST_LOOKS = 2**16
"""Rules that look more often are not followed exactly: that would take longer than to run them."""


@dataclass(frozen=True)
class Trap:
    """A promise under which the known rate has one wrong verdict."""

    event: str
    setting: str
    promise: Promise
    wrong: Verdict
    repeats: int


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
    """Both errors of one rule."""
    events = (SAYS_ROBUST, SAYS_NOT_ROBUST)
    return tuple(
        _measured(method, question, trap)
        if isinstance(trap, Trap)
        else Measured(
            _name(method), question.name, event, "", effort.error, method.holds, left_out=trap
        )
        for event, trap in zip(events, traps(question, effort), strict=True)
    )


def _measured(method: Method, question: KnownQuestion, trap: Trap) -> Measured:
    rule = remembered(rule_for(method.name, trap.promise))
    ends = [decided(rule, question.record(repeat)) for repeat in range(trap.repeats)]
    samples = np.array([end.samples for end in ends])
    promised = trap.promise.beta if trap.wrong is Verdict.ROBUST else trap.promise.alpha
    looks = rule.between(0, rule.last).at.size
    exact = operation(rule.between, question.rate, rule.last) if looks <= _MOST_LOOKS else None
    chance = None
    if exact is not None:
        chance = exact.robust if trap.wrong is Verdict.ROBUST else exact.not_robust
    return Measured(
        _name(method),
        question.name,
        trap.event,
        trap.setting,
        promised,
        method.holds,
        runs=trap.repeats,
        errors=sum(end.verdict is trap.wrong for end in ends),
        samples=float(samples.mean()),
        most_samples=int(samples.max()),
        expected_samples=None if exact is None else exact.samples,
        figures={"exact error": chance},
    )


def decided(rule: Rule, record: FailureRecord) -> Decision:
    """Run the rule on a stream of trials until it has a verdict."""
    decision = Decision(rule)
    while decision.verdict is None and decision.samples < rule.last:
        more = min(max(FIRST_TRIALS, decision.samples // 4), MOST_TRIALS_AT_ONCE)
        stop = min(decision.samples + more, rule.last)
        decision.feed(record.first(stop)[decision.samples :])
    return decision


def remembered(rule: Rule) -> Rule:
    """The same rule with all its boundaries at hand."""
    whole = rule.between(0, rule.last)
    return replace(rule, between=whole.part)


def _name(method: Method) -> str:
    return f"decide-{method.name}"


def _analyser(method: Method) -> Analyser:
    kept = "" if method.holds else " (its own claim; no theorem)"
    promise = f"either wrong verdict comes with probability at most the error asked for{kept}"
    return Analyser(_name(method), "decision", promise, method.holds, partial(measure, method))


ANALYSERS = tuple(_analyser(method) for method in methods().values())
