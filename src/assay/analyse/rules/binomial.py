"""The smallest test of fixed length whose exact binomial errors keep the promise."""

from __future__ import annotations

from assay.analyse.binomial import smallest_test
from assay.analyse.decision import Rule
from assay.analyse.method import Method
from assay.analyse.promise import Promise
from assay.analyse.rules._curtailed import curtailed
from assay.analyse.sequential import ConfidenceSequence

NAME = "binomial"


def rule(promise: Promise) -> Rule:
    test = smallest_test(promise)
    return Rule(
        NAME,
        promise,
        f"Exact binomial tails: of {test.samples} samples at most {test.allowed} may fail, and "
        f"sampling stops when that is settled.",
        holds=True,
        last=test.samples,
        sequence=ConfidenceSequence(promise.alpha, promise.beta),
        between=curtailed(test),
    )


RULE = Method(NAME, "the smallest exact test of fixed length, stopped when settled", True, rule)
