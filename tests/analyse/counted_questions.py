"""Small networks whose violation rates are known exactly."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np

from assay.question.graph import GraphBuilder, mlp
from assay.question.network import Network, load
from assay.question.property import Case, Inequality, Violation
from assay.question.region import Box

ONE = Fraction(1)


def at_most(output: int, bound: Fraction | int | str) -> Inequality:
    return Inequality(((output, ONE),), Fraction(bound))


def at_least(output: int, bound: Fraction | int | str) -> Inequality:
    return Inequality(((output, -ONE),), -Fraction(bound))


def square(inputs: int, low: object = -1, high: object = 1) -> Box:
    return Box((Fraction(str(low)),) * inputs, (Fraction(str(high)),) * inputs)


def asked(box: Box, *disjuncts: Sequence[Inequality], outputs: int = 1) -> Case:
    return Case(box, Violation(outputs, tuple(tuple(d) for d in disjuncts)))


def linear(weights: Sequence[Sequence[float]], bias: Sequence[float]) -> Network:
    return load(mlp([(np.array(weights, np.float32), np.array(bias, np.float32))]), "linear")


def size_of_two() -> Network:
    """|x_0| + |x_1|: at most t on a share t^2 / 2 of the square [-1, 1]^2, for t up to 1."""
    graph = GraphBuilder((1, 2))
    size = graph.abs(graph.input)
    return load(graph.build(graph.gemm(size, np.ones((1, 2), np.float32))), "size")


def random_relu(seed: int, inputs: int, outputs: int = 1, width: int = 16) -> Network:
    draw = np.random.default_rng(seed)
    sizes = (inputs, width, width, outputs)
    layers = [
        (
            (draw.normal(size=(b, a)) / np.sqrt(a)).astype(np.float32),
            draw.normal(size=b).astype(np.float32) / 4,
        )
        for a, b in pairwise(sizes)
    ]
    return load(mlp(layers), f"random-{seed}")
