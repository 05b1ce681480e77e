"""A verifier that lies: always violated, with the middle of the first box as its witness."""

from __future__ import annotations

from assay.judge.task import Answer
from assay.question.network import Network
from assay.question.property import Specification
from assay.question.vnnlib import decimal


def answer(network: Network, specification: Specification, seconds: float) -> Answer:
    del network, seconds
    box = specification.cases[0].box
    middle = ((low + high) / 2 for low, high in zip(box.lower, box.upper, strict=True))
    return Answer("violated", tuple(decimal(value) for value in middle))
