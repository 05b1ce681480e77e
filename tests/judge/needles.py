"""Small questions whose counterexample no attack sees: outputs are flat but for a needle.

Class 0 scores one, the target `peak` times a needle in [0, 1], all other classes nothing. So the
question is violated exactly when the needle reaches 1 / peak somewhere in the box, and gradients
are zero outside of it: an attack has to hit it by chance.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import torch

from assay.question.graph import GraphBuilder, mlp
from assay.question.network import Network, load
from assay.question.property import Case, Specification, Violation
from assay.question.region import Box
from assay.question.torch_view import torch_view

Front = Callable[[GraphBuilder], str]
"""Adds nodes after the input of a graph and returns the name of a flat tensor [1, n]."""


@dataclass(frozen=True)
class Question:
    network: Network
    specification: Specification
    truth: str


def asked(network: Network, truth: str, upper: Sequence[float] = ()) -> Question:
    """Class 0 on a box around zero, [-1, 1] unless `upper` says otherwise."""
    ends = tuple(Fraction(v) for v in upper) or (Fraction(1),) * network.inputs
    box = Box(tuple(-v for v in ends), ends)
    violation = Violation.misclassification(0, network.outputs)
    return Question(network, Specification((Case(box, violation),)), truth)


def needle(
    centre: Sequence[float],
    width: float,
    *,
    peak: float = 2.0,
    classes: int = 4,
    target: int = 2,
    idle: int = 0,
    skew: float = 0.0,
    truth: str | None = None,
) -> Question:
    """The needle is relu(1 - |x - centre|_1 / width).

    `idle` units do nothing but be unstable: many of them make the search halve inputs. With a
    `skew` the two sides of an input overlap by so much and one is twice as steep, so that no part
    of the box with all units fixed is just the tip.
    """
    count = len(centre)
    eye = np.eye(count, dtype=np.float32)
    place = np.array(centre, np.float32)
    sides = np.vstack([eye, -eye, np.tile(eye[:1], (idle, 1))])
    shifts = np.concatenate([-place, place + skew, np.linspace(-0.5, 0.5, idle)])
    charge = np.zeros((1, len(sides)), np.float32)
    charge[0, : 2 * count] = -1 / width
    if skew:
        charge[0, :count] *= 2
    top = np.array([1 + count * skew / width], np.float32)
    layers = [
        (sides, shifts.astype(np.float32)),
        (charge, top),
        _scores(peak, classes, target),
    ]
    answer = truth or ("violated" if peak >= 1 else "robust")
    return asked(load(mlp(layers), "needle"), answer)


def spike(
    shape: Sequence[int],
    front: Front,
    *,
    weights: Sequence[float] = (),
    upper: Sequence[float] = (),
    at: Sequence[float] = (),
    width: float = 0.25,
) -> Question:
    """The needle is relu(1 - (h - weights z) / width): z what `front` makes of the input.

    h is the value of weights z at the point `at`, the upper corner of the box unless it is given;
    it should be the largest value in the box.
    """
    graph = GraphBuilder(tuple(shape))
    size = graph.shape(front(graph))[1]
    factors = np.array(weights or [1.0] * size, np.float32)
    point = at or upper or [1.0] * int(np.prod(shape))
    highest = _highest(shape, front, factors, point)
    graph = GraphBuilder(tuple(shape))
    row = (factors / width).astype(np.float32).reshape(1, size)
    shift = np.array([1 - highest / width], np.float32)
    up = graph.relu(graph.gemm(front(graph), row, shift))
    network = load(graph.build(graph.gemm(up, *_scores(2.0, 4, 2))), "spike")
    return asked(network, "violated", upper)


def _highest(
    shape: Sequence[int], front: Front, factors: np.ndarray, point: Sequence[float]
) -> float:
    graph = GraphBuilder(tuple(shape))
    view = torch_view(load(graph.build(front(graph)), "front"), torch.float64)
    values = view(torch.tensor([list(point)], dtype=torch.float64))[0]
    return float(values @ torch.tensor(factors, dtype=torch.float64))


def _scores(peak: float, classes: int, target: int) -> tuple[np.ndarray, np.ndarray]:
    scores = np.zeros((classes, 1), np.float32)
    scores[target] = peak
    level = np.zeros(classes, np.float32)
    level[0] = 1.0
    return scores, level
