"""Wald's sequential probability ratio test of eps' against eps, with an end.

The likelihood ratio of eps' over eps is a supermartingale under every rate of eps or more and
reaches 1/error with probability at most `error` (Ville); its inverse likewise under eps' or less.
Nine tenths of each error are spent so; where neither has happened by the length of a fixed exact
test with the other tenth, that test decides. By the union bound the errors add up.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from assay.analyse.binomial import smallest_test
from assay.analyse.boundaries import Boundaries, looks
from assay.analyse.decision import Rule
from assay.analyse.evidence import Mixture
from assay.analyse.method import Method
from assay.analyse.promise import Promise
from assay.analyse.sequential import ConfidenceSequence

NAME = "sprt"
SPENT_AT_THE_END = 0.1


def rule(promise: Promise) -> Rule:
    end = smallest_test(_with_errors(promise, SPENT_AT_THE_END))
    before = ratio_sequence(_with_errors(promise, 1 - SPENT_AT_THE_END))

    def between(after: int, upto: int) -> Boundaries:
        at = looks(after, min(upto, end.samples - 1))
        bounds = before.excluding(promise.eps, promise.eps_inner, at)
        if not after < end.samples <= upto:
            return bounds
        return Boundaries(
            np.append(at, end.samples),
            np.append(bounds.accept_at, end.allowed),
            np.append(bounds.reject_at, end.allowed + 1),
        )

    return Rule(
        NAME,
        promise,
        f"Ville's inequality for the likelihood ratio with nine tenths of each error, an exact "
        f"binomial test after {end.samples} samples with the rest, and the union bound.",
        holds=True,
        last=end.samples,
        sequence=ConfidenceSequence(promise.alpha, promise.beta),
        between=between,
    )


def ratio_sequence(promise: Promise) -> ConfidenceSequence:
    """Evidence with one alternative only: at eps against eps', at eps' against eps."""
    zone = promise.eps - promise.eps_inner
    return ConfidenceSequence(
        error_below=promise.alpha,
        error_above=promise.beta,
        against_below=Mixture((zone / (1 - promise.eps_inner),), (1.0,)),
        against_above=Mixture((zone / promise.eps,), (1.0,)),
    )


def _with_errors(promise: Promise, share: float) -> Promise:
    return replace(promise, alpha=share * promise.alpha, beta=share * promise.beta)


RULE = Method(NAME, "the sequential probability ratio test, with an end", True, rule)
