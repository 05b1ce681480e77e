"""A falsifier only: gradient descent from many starts; violated only with a certain witness."""

from __future__ import annotations

import time

from assay.bounds.counterexample import Falsifier
from assay.bounds.inequalities import Excesses
from assay.judge.task import Answer
from assay.question.network import Network
from assay.question.property import Specification
from assay.question.vnnlib import decimal

_SHARE_OF_TIME = 0.5
_MOST_ROUNDS = 40


def answer(network: Network, specification: Specification, seconds: float) -> Answer:
    """Never says robust. Rounds of restarts until a violation is certain or time is nearly up."""
    end = time.monotonic() + _SHARE_OF_TIME * seconds
    falsifiers = [
        Falsifier(network, case, Excesses.of(case.violation), seed=0)
        for case in specification.cases
        if case.violation.disjuncts
    ]
    for _ in range(_MOST_ROUNDS):
        for falsifier in falsifiers:
            witness = falsifier.attack()
            if witness is not None:
                return Answer("violated", tuple(decimal(v) for v in witness))
            if time.monotonic() > end:
                return Answer("unknown")
    return Answer("unknown")
