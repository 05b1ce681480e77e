"""Backward linear bounds (CROWN) with branch and bound; violated only with a certain witness."""

from __future__ import annotations

import time

from assay.bounds.branch import decide
from assay.judge.task import Answer
from assay.question.network import Network
from assay.question.property import Specification
from assay.question.vnnlib import decimal

_SHARE_OF_TIME = 0.9


def answer(
    network: Network,
    specification: Specification,
    seconds: float,
    *,
    boxes: int = 1_000_000,
    seed: int = 0,
) -> Answer:
    """Every case gets an equal share of the time that is left, and `boxes` to split it into."""
    end = time.monotonic() + _SHARE_OF_TIME * seconds
    proved = True
    for number, case in enumerate(specification.cases):
        left = max(end - time.monotonic(), 0.0) / (len(specification.cases) - number)
        decision = decide(network, case, deadline_s=left, budget=boxes, seed=seed)
        if decision.witness is not None:
            return Answer("violated", tuple(decimal(v) for v in decision.witness))
        proved = proved and decision.verdict == "robust"
    return Answer("robust" if proved else "unknown")
