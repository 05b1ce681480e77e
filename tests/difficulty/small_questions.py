"""Questions small enough to profile by hand."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from assay.difficulty.profile import Profile, profile
from assay.difficulty.settings import Settings
from assay.question.graph import GraphBuilder
from assay.question.network import Network, load
from assay.question.property import Case, Inequality, Specification, Violation
from assay.question.region import Box


def positive(outputs: int = 1) -> Violation:
    """The margin is the least output."""
    return Violation(
        outputs, tuple((Inequality(((i, Fraction(1)),), Fraction(0)),) for i in range(outputs))
    )


def box(inputs: int, low: float = -1, high: float = 1) -> Box:
    return Box((Fraction(low),) * inputs, (Fraction(high),) * inputs)


def asked(*cases: tuple[Box, Violation]) -> Specification:
    return Specification(tuple(Case(*case) for case in cases))


def profiled(
    network: Network, specification: Specification, *, samples: int = 400, tau: float = 0.01
) -> Profile:
    return profile(network, specification, Settings(samples, tau))


def affine(rows: Sequence[Sequence[float]], bias: Sequence[float]) -> Network:
    graph = GraphBuilder((1, len(rows[0])))
    weight, shift = np.array(rows, np.float32), np.array(bias, np.float32)
    return load(graph.build(graph.gemm(graph.input, weight, shift)), "affine")


def meap_pair() -> Network:
    """relu(z) + relu(1 - z) with z = 1/2 + 2 x: one where 0 <= z <= 1, steeper outside."""
    graph = GraphBuilder((1, 1))
    hidden = graph.gemm(graph.input, np.array([[2], [-2]], np.float32), np.full(2, 0.5, np.float32))
    output = graph.gemm(graph.relu(hidden), np.ones((1, 2), np.float32))
    return load(graph.build(output), "meap-pair")
