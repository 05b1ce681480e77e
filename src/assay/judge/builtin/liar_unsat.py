"""A verifier that lies: always robust, without a look at the network."""

from __future__ import annotations

from assay.judge.task import Answer
from assay.question.network import Network
from assay.question.property import Specification


def answer(network: Network, specification: Specification, seconds: float) -> Answer:
    del network, specification, seconds
    return Answer("robust")
