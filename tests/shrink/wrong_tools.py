"""A question with a hidden tip, and tools inside this process that are wrong about it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

from assay.judge.outcome import Outcome
from assay.question import vnnlib
from assay.question.graph import mlp
from assay.question.property import Violation
from assay.question.region import Box
from assay.shrink.asking import Answered
from assay.shrink.draft import Draft
from assay.shrink.proving import Proved, Prover
from assay.truth.instance import Instance


def tip(units: int = 6, classes: int = 4, height: float = 2.0) -> Draft:
    """Class 2 exceeds class 0 where |x_0| + |x_1| is small; other units and inputs do nothing."""
    sides = np.zeros((4 + units, 3), np.float32)
    sides[:4, :2] = [[1, 0], [-1, 0], [0, 1], [0, -1]]
    sides[4:, 2] = 1
    charge = np.zeros((1, 4 + units), np.float32)
    charge[0, :4] = -4
    scores = np.zeros((classes, 1), np.float32)
    scores[2] = height
    level = np.zeros(classes, np.float32)
    level[0] = 1
    layers = [
        (sides, np.zeros(len(sides), np.float32)),
        (charge, np.ones(1, np.float32)),
        (scores, level),
    ]
    box = Box((Fraction(-1),) * 3, (Fraction(1),) * 3)
    question = vnnlib.write(box, Violation.misclassification(0, classes)).encode()
    return Draft(mlp(layers), question, (Fraction(0),) * 3)


def prover(answer: str) -> Prover:
    kind = "witness" if answer == "violated" else "relu_tree"
    return Prover("tip", answer, "float32", kind)  # type: ignore[arg-type]


def proved(draft: Draft, answer: str) -> Proved:
    found = prover(answer).proved(draft)
    assert found is not None
    return found


class StubAsker:
    """Wrong where a test says so; stands for a verifier that would take seconds."""

    def __init__(self, is_wrong: Callable[[Draft], bool], wrong: Outcome, jobs: int = 1) -> None:
        self._is_wrong, self._wrong = is_wrong, wrong
        self.jobs = jobs
        self.calls = 0
        self.seen: list[tuple[bytes, bytes]] = []

    def asked(self, instances: Sequence[Instance]) -> list[Answered]:
        found = []
        for instance in instances:
            self.calls += 1
            self.seen.append((instance.onnx, instance.vnnlib))
            draft = Draft(instance.onnx, instance.vnnlib, ())
            outcome: Outcome = self._wrong if self._is_wrong(draft) else "unknown"
            found.append(Answered(outcome, None))
        return found
