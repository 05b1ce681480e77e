"""A rule that its budget allows to say robust; otherwise that is said before sampling begins.

Whatever the rule, robust after n samples without a failure is wrong with probability (1 - eps)^n at
a rate of eps: no rule with error beta says it before n = log(beta) / log(1 - eps).
"""

from __future__ import annotations

import math

from assay.analyse.decision import Rule
from assay.analyse.promise import Promise
from assay.analyse.rules import named, rule_for
from assay.errors import BadInput

_MOST_CHUNKS, _CHUNK = 64, 2**20


def rule_within(method: str, promise: Promise, budget: int) -> Rule:
    """The rule of that name; BadInput if so many samples never make it say robust."""
    if budget < 1:
        raise BadInput(f"a budget of {budget} samples decides nothing; give at least 1")
    least = math.ceil(math.log(promise.beta) / math.log1p(-promise.eps))
    if named(method).holds and least > budget:  # a rule of so many samples may not even be made
        raise _refusal(promise, budget, least)
    rule = rule_for(method, promise)
    soonest = _soonest(rule, min(least, budget) if rule.holds else 1)
    if soonest > budget:
        raise _refusal(promise, budget, soonest)
    return rule


def _refusal(promise: Promise, budget: int, samples: int) -> BadInput:
    return BadInput(
        f"a budget of {budget:,} samples can never show that a region is robust at eps = "
        f"{promise.eps:g} with error beta = {promise.beta:g}: that takes at least {samples:,} "
        "samples; raise the budget, or ask about a larger eps"
    )


def _soonest(rule: Rule, start: int) -> int:
    """After how many samples without a failure the rule says robust, from `start` on."""
    after, ahead = start - 1, 64
    for _ in range(_MOST_CHUNKS):
        if after >= rule.last:
            break
        bounds = rule.between(after, after + ahead)
        enough = bounds.accept_at >= 0
        if enough.any():
            return int(bounds.at[enough.argmax()])
        after, ahead = after + ahead, min(2 * ahead, _CHUNK)
    return rule.last
