"""A margin that contradicts a truth: exact arithmetic tells float noise from a wrong label."""

from __future__ import annotations

import pickle
from fractions import Fraction

import numpy as np
import pytest
from small_questions import affine, asked, box, positive

from assay.difficulty.label import Label
from assay.difficulty.profile import profile
from assay.difficulty.settings import Settings
from assay.errors import WrongLabel
from assay.question.graph import GraphBuilder
from assay.question.network import Network, load
from assay.question.region import Box

SETTINGS = Settings(samples=50)


def robust(margin: Fraction | int) -> Label:
    return Label("robust", Fraction(margin))


def cancelling() -> Network:
    """2^60 (x + 2^-60) - 2^60 x: exactly 1, and 0 in float64 for x near 1."""
    graph = GraphBuilder((1, 1))
    both = graph.gemm(graph.input, np.ones((2, 1), np.float32), np.array([2.0**-60, 0], np.float32))
    output = graph.gemm(both, np.array([[2.0**60, -(2.0**60)]], np.float32))
    return load(graph.build(output), "cancelling")


def test_float_noise_is_told_and_replaced() -> None:
    found = profile(cancelling(), asked((box(1, 1, 2), positive())), SETTINGS, robust(1))
    assert (found.minimum, found.lowest) == (1.0, 1.0)
    assert found.note == "float noise: 0 is 1 in exact arithmetic"


def test_without_a_truth_nothing_is_promised() -> None:
    found = profile(cancelling(), asked((box(1, 1, 2), positive())), SETTINGS)
    assert (found.minimum, found.note) == (0.0, "")


def test_a_violated_instance_labelled_robust() -> None:
    network = affine([[1, 1]], [1])
    with pytest.raises(WrongLabel, match=r"WRONG LABEL: .* violated: .* margin is -1 at"):
        profile(network, asked((box(2), positive())), SETTINGS, robust(Fraction(1, 2)))


def test_a_margin_below_the_certified_one() -> None:
    network = affine([[1, 1]], [3])
    specification = asked((box(2), positive()))
    with pytest.raises(WrongLabel, match=r"less than the certified 1.5: .* margin is 1 at"):
        profile(network, specification, SETTINGS, robust(Fraction(3, 2)))
    assert profile(network, specification, SETTINGS, robust(1)).lowest == 1.0


def test_the_point_travels_with_the_error() -> None:
    network = affine([[1, 1]], [1])
    with pytest.raises(WrongLabel) as caught:
        profile(network, asked((box(2), positive())), SETTINGS, robust(Fraction(1, 2)))
    again = pickle.loads(pickle.dumps(caught.value))  # noqa: S301
    assert again.point == ("-1.0", "-1.0")
    assert str(again) == str(caught.value)


def test_a_known_violation_that_the_search_misses_is_noted() -> None:
    network = affine([[1, 1]], [3])
    hidden = Label("violated", Fraction(0))
    found = profile(network, asked((box(2), positive())), SETTINGS, hidden)
    assert found.note == "the search did not find the violation that the truth shows"
    shown = profile(affine([[1, 1]], [1]), asked((box(2), positive())), SETTINGS, hidden)
    assert shown.note == ""


def test_noise_in_the_last_digits_is_not_worth_a_word() -> None:
    network = affine([[1, 1]], [3])
    certified = robust(Fraction(1) + Fraction(1, 10**12))
    with pytest.raises(WrongLabel):
        profile(network, asked((box(2), positive())), SETTINGS, certified)
    third = Box((Fraction(-1, 3),) * 2, (Fraction(1, 3),) * 2)
    found = profile(network, asked((third, positive())), SETTINGS, robust(Fraction(7, 3)))
    assert found.note == ""
