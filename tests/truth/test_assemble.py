from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import CannotCertify
from assay.question.floaterror import Layer
from assay.question.property import Violation
from assay.question.region import Box
from assay.truth.assemble import (
    Design,
    dyadic_integers,
    mlp_outputs,
    robust_instance,
    violated_instance,
)

FLOATS = st.floats(width=32, allow_nan=False, allow_infinity=False)
LAYERS: tuple[Layer, ...] = (
    (np.array([[1.0, -1.0], [0.5, 2.0]], dtype=np.float32), np.zeros(2, dtype=np.float32)),
    (np.eye(2, dtype=np.float32), np.array([0.25, 0.0], dtype=np.float32)),
)


def design(label: int) -> Design:
    box = Box.around([Fraction(1), Fraction(0)], Fraction(1, 4))
    return Design("meap", {}, 0, LAYERS, box, Violation.misclassification(label, 2))


@given(st.lists(FLOATS, min_size=1, max_size=6))
def test_float32_numbers_become_integers_exactly(numbers: list[float]) -> None:
    array = np.array(numbers, dtype=np.float32)
    integers, exponent = dyadic_integers(array)
    assert exponent <= 0
    assert [Fraction(i, 1 << -exponent) for i in integers] == [Fraction(v) for v in numbers]


@given(st.integers(-1000, 1000), st.integers(-1000, 1000), st.integers(0, 60))
def test_outputs_are_those_of_fractions(a: int, b: int, shift: int) -> None:
    x, y = Fraction(a, 1 << shift), Fraction(b, 4)
    first, second = max(x - y, Fraction(0)), max(x / 2 + 2 * y, Fraction(0))
    assert mlp_outputs(LAYERS, [x, y]) == [first + Fraction(1, 4), second]


@pytest.mark.parametrize(
    "point", [(Fraction(1, 3), Fraction(2, 3)), (Fraction(1, 6), Fraction(1, 2))]
)
def test_points_that_are_not_dyadic_are_refused(point: tuple[Fraction, ...]) -> None:
    with pytest.raises(ValueError, match="dyadic"):
        mlp_outputs(LAYERS, point)


def test_nothing_unproved_becomes_an_instance() -> None:
    for margin in (Fraction(0), Fraction(-1)):
        with pytest.raises(CannotCertify, match="not positive"):
            robust_instance(design(0), margin)
    with pytest.raises(CannotCertify, match="outside"):
        violated_instance(design(1), [Fraction(2), Fraction(0)])
    with pytest.raises(CannotCertify, match="keeps a margin"):
        violated_instance(design(0), [Fraction(1), Fraction(0)])
    assert violated_instance(design(1), [Fraction(1), Fraction(0)]).truth.margin < 0
