"""A margin that contradicts a truth: exact arithmetic tells float noise from a wrong label."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from small_questions import affine, asked, box, positive

from assay.difficulty.profile import profile
from assay.difficulty.settings import Settings
from assay.errors import WrongLabel
from assay.question.graph import GraphBuilder
from assay.question.network import Network, load

SETTINGS = Settings(samples=50)


def cancelling() -> Network:
    """2^60 (x + 2^-60) - 2^60 x: exactly 1, and 0 in float64 for x near 1."""
    graph = GraphBuilder((1, 1))
    both = graph.gemm(graph.input, np.ones((2, 1), np.float32), np.array([2.0**-60, 0], np.float32))
    output = graph.gemm(both, np.array([[2.0**60, -(2.0**60)]], np.float32))
    return load(graph.build(output), "cancelling")


def test_float_noise_is_told_and_replaced() -> None:
    found = profile(cancelling(), asked((box(1, 1, 2), positive())), SETTINGS, Fraction(1))
    assert (found.minimum, found.lowest) == (1.0, 1.0)
    assert found.note == "float noise: 0 is 1 exactly"


def test_without_a_truth_nothing_is_promised() -> None:
    found = profile(cancelling(), asked((box(1, 1, 2), positive())), SETTINGS)
    assert (found.minimum, found.note) == (0.0, "")


def test_a_violated_instance_labelled_robust() -> None:
    network = affine([[1, 1]], [1])
    with pytest.raises(WrongLabel, match=r"WRONG LABEL: .* violated: its margin is exactly -1 at"):
        profile(network, asked((box(2), positive())), SETTINGS, Fraction(1, 2))


def test_a_margin_below_the_certified_one() -> None:
    network = affine([[1, 1]], [3])
    specification = asked((box(2), positive()))
    with pytest.raises(WrongLabel, match=r"less than the certified 1.5: its margin is exactly 1"):
        profile(network, specification, SETTINGS, Fraction(3, 2))
    assert profile(network, specification, SETTINGS, Fraction(1)).lowest == 1.0
