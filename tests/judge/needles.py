"""Small networks with a needle: one place where a wrong class wins, flat everywhere else.

The needle over a point c is relu(1 - |x - c|_1 / width): one at c, zero farther out than the
width. Class 0 scores `level`, the target twice that times the needle, all others nothing. So the
question is violated exactly when a point of the box is within half the width of c, and gradients
are zero outside of the needle: an attack has to hit it by chance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from assay.question.graph import GraphBuilder, mlp
from assay.question.network import Network, load
from assay.question.property import Case, Specification, Violation
from assay.question.region import Box

Layers = list[tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class Question:
    network: Network
    specification: Specification
    truth: str


def asked(network: Network, truth: str, *, reach: float = 1.0) -> Question:
    """Class 0 on the box [-reach, reach]^n."""
    end = Fraction(reach)
    box = Box((-end,) * network.inputs, (end,) * network.inputs)
    violation = Violation.misclassification(0, network.outputs)
    return Question(network, Specification((Case(box, violation),)), truth)


def needle_layers(
    centre: Sequence[float], width: float, *, classes: int = 4, target: int = 2, peak: float = 2.0
) -> Layers:
    """Two layers make the needle; `peak` is how often it reaches the level of class 0."""
    count = len(centre)
    eye = np.eye(count, dtype=np.float32)
    place = np.array(centre, np.float32)
    sides = (np.vstack([eye, -eye]), np.concatenate([-place, place]))
    needle = (np.full((1, 2 * count), -1 / width, np.float32), np.ones(1, np.float32))
    scores = np.zeros((classes, 1), np.float32)
    scores[target] = peak
    level = np.zeros(classes, np.float32)
    level[0] = 1.0
    return [sides, needle, (scores, level)]


def needle(
    centre: Sequence[float], width: float, *, classes: int = 4, target: int = 2, peak: float = 2.0
) -> Question:
    layers = needle_layers(centre, width, classes=classes, target=target, peak=peak)
    return asked(load(mlp(layers), "needle"), "violated" if peak >= 1 else "robust")
