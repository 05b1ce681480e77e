"""Interval bound propagation with outward rounding: says robust or does not know."""

from __future__ import annotations

from assay.bounds.interval_margin import excludes
from assay.judge.task import Answer
from assay.question.network import Network
from assay.question.property import Specification


def answer(network: Network, specification: Specification, seconds: float) -> Answer:
    """One pass a case; the seconds are not needed."""
    del seconds
    proved = all(excludes(network, case) for case in specification.cases)
    return Answer("robust" if proved else "unknown")
