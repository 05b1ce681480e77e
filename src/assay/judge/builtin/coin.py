"""A verifier that guesses: one of the two lies, by a coin that the question decides."""

from __future__ import annotations

import hashlib

from assay.judge.builtin import liar_sat, liar_unsat
from assay.judge.task import Answer
from assay.question.network import Network
from assay.question.property import Specification


def answer(network: Network, specification: Specification, seconds: float) -> Answer:
    toss = hashlib.sha256(repr(specification).encode()).digest()[0] % 2
    lie = liar_sat.answer if toss else liar_unsat.answer
    return lie(network, specification, seconds)
