"""The usual rule: stop as soon as a confidence sequence lies on one side.

Robust when the upper bound of the rate is eps or less, not robust when the lower one is eps' or
more. Either is wrong with probability at most beta or alpha whenever it is said, by Ville's
inequality; the interval that stands beside the verdict can never contradict it.
"""

from __future__ import annotations

import math
from functools import cache
from itertools import takewhile

import numpy as np

from assay.analyse.boundaries import Boundaries, joined, looks, spans
from assay.analyse.decision import Rule
from assay.analyse.evidence import Mixture
from assay.analyse.method import Method
from assay.analyse.promise import Promise
from assay.analyse.sequential import GENERAL, ConfidenceSequence

NAME = "confidence-sequence"

# The shares of the weight were chosen by the exact expected samples of `stopping.operation` on the
# settings of the weakened robustness paper (benchmarks/decision_samples.py).
# At the other end of the indifference zone: near there the rule resembles the sequential
# probability ratio test, which is the quickest.
DESIGN_SHARE = 0.25
# Far away: none at all fail, or somewhat less than every second.
NONE_FAIL, NONE_FAIL_SHARE = 1.0, 0.31
MANY_FAIL, MANY_FAIL_SHARE = 0.4, 0.4
# For an interval that is of use wherever the rate is.
GENERAL_SHARE = 0.01
# What is left is shared by alternatives in between, each about this much farther than the last.
RATIO = 1.7


def designed_sequence(promise: Promise) -> ConfidenceSequence:
    """The confidence sequence that is shortest where this promise needs it."""
    zone = promise.eps - promise.eps_inner
    return ConfidenceSequence(
        error_below=promise.alpha,
        error_above=promise.beta,
        against_below=_mixture(zone / (1 - promise.eps_inner), MANY_FAIL, MANY_FAIL_SHARE),
        against_above=_mixture(zone / promise.eps, NONE_FAIL, NONE_FAIL_SHARE),
    )


def _mixture(design: float, far: float, far_share: float) -> Mixture:
    steps = max(2, round(-math.log(design) / math.log(RATIO)))
    between = [design ** (step / steps) for step in range(1, steps)]
    share = (1 - DESIGN_SHARE - far_share - GENERAL_SHARE) / len(between)
    return Mixture(
        gaps=(design, far, *between, *GENERAL.gaps),
        weights=(
            DESIGN_SHARE,
            far_share,
            *(share for _ in between),
            *(GENERAL_SHARE * weight for weight in GENERAL.weights),
        ),
    )


def rule(promise: Promise) -> Rule:
    sequence = designed_sequence(promise)

    last = _last_sample(sequence, promise)

    @cache
    def span(first: int, last: int) -> Boundaries:
        return sequence.excluding(promise.eps, promise.eps_inner, looks(first, last))

    def between(after: int, upto: int) -> Boundaries:
        end = min(upto, last)
        needed = takewhile(lambda ends: ends[0] < end, spans())
        pieces = [span(*ends[:2]).part(after, end) for ends in needed if ends[1] > after]
        return joined(pieces)

    return Rule(
        NAME,
        promise,
        "Ville's inequality for a mixture of likelihood ratios: both errors hold whenever one "
        "stops, and so does the interval.",
        holds=True,
        last=last,
        sequence=sequence,
        between=between,
    )


def _last_sample(sequence: ConfidenceSequence, promise: Promise) -> int:
    """A look by which every number of failures has led to a verdict: the boundaries meet."""

    def met(samples: int) -> bool:
        bounds = sequence.excluding(promise.eps, promise.eps_inner, np.array([samples]))
        return bool(bounds.accept_at[0] + 1 >= bounds.reject_at[0])

    for first, last, step in spans():
        if met(last):
            low, high = first // step, last // step
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (low, middle) if met(middle * step) else (middle, high)
            return high * step
    raise AssertionError("the spans never end")


RULE = Method(NAME, "a confidence sequence for the rate, looked at as it shrinks", True, rule)
