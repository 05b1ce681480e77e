"""The dynamic programme against enumeration of all corners."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest
from flint import fmpz_mat
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.proof.arithmetic import Unsupported
from assay.proof.chain import Affine
from assay.proof.corner_maximum import corner_maxima
from assay.proof.interval import Interval
from assay.proof.work import MOST_WORK, charge, limited

F = Fraction


def enumerated(
    rows: list[list[int]], bias: list[int], weights: list[int], box: Interval, denominator: int
) -> Fraction:
    ends = zip(box.lower.fractions(), box.upper.fractions(), strict=True)
    best = F(0)
    for corner in product(*ends):
        hinges = [
            max(sum((a * x for a, x in zip(row, corner, strict=True)), F(b)), F(0)) / denominator
            for row, b in zip(rows, bias, strict=True)
        ]
        best = max(best, sum((w * h for w, h in zip(weights, hinges, strict=True)), F(0)))
    return best


@st.composite
def problems(draw: st.DrawFn) -> tuple[Affine, list[list[int]], list[list[int]], Interval]:
    inputs = draw(st.integers(1, 6))
    window = draw(st.integers(0, inputs))
    rows = []
    for _ in range(draw(st.integers(1, 5))):
        start = draw(st.integers(0, inputs - window))
        row = [0] * inputs
        row[start : start + window] = [draw(st.integers(-5, 5)) for _ in range(window)]
        rows.append(row)
    bias = [draw(st.integers(-9, 9)) for _ in rows]
    # equal ends leave a coordinate without freedom
    ends = [sorted((draw(st.integers(-6, 6)), draw(st.integers(-6, 6)))) for _ in range(inputs)]
    box = Interval.over(draw(st.sampled_from([1, 3, 8])), *zip(*ends, strict=True))
    count = draw(st.integers(1, 3))
    weights = [[draw(st.integers(0, 4)) for _ in rows] for _ in range(count)]
    flat = [a for row in rows for a in row]
    affine = Affine(fmpz_mat(len(rows), inputs, flat), tuple(bias), draw(st.sampled_from([1, 4])))
    return affine, rows, weights, box


@settings(max_examples=300, deadline=None)
@given(problems())
def test_every_maximum_is_that_of_the_best_corner(
    problem: tuple[Affine, list[list[int]], list[list[int]], Interval],
) -> None:
    affine, rows, weights, box = problem
    found = corner_maxima(affine, list(range(len(rows))), weights, box)
    bias = list(affine.bias)
    assert found == [enumerated(rows, bias, w, box, affine.denominator) for w in weights]


def test_some_hinges_of_a_layer_and_none() -> None:
    affine = Affine(fmpz_mat(3, 2, [1, 0, 0, 1, 1, 1]), (0, 1, -1), 2)
    box = Interval.of([F(-1), F(0)], [F(1, 2), F(3)])
    assert corner_maxima(affine, [1], [[3]], box) == [3 * F(4, 2)]
    assert corner_maxima(affine, [2, 0], [[1, 1], [0, 2]], box) == [F(3, 2), F(1, 2)]
    assert corner_maxima(affine, [], [[]], box) == [0]


def test_a_hinge_without_inputs_is_a_constant() -> None:
    affine = Affine(fmpz_mat(2, 1, [0, 1]), (6, -9), 3)
    box = Interval.of([F(0)], [F(1)])
    assert corner_maxima(affine, [0, 1], [[1, 1]], box) == [2]


@pytest.mark.parametrize(("inputs", "hinges"), [(30, 1), (20, 40)])
def test_too_much_work_is_unsupported(inputs: int, hinges: int) -> None:
    affine = Affine(fmpz_mat(hinges, inputs, [1] * (hinges * inputs)), (0,) * hinges, 1)
    box = Interval.over(1, [0] * inputs, [1] * inputs)
    with pytest.raises(Unsupported, match="too many corners"):
        corner_maxima(affine, list(range(hinges)), [[1] * hinges], box)


def test_patience_is_shared_among_many_calls() -> None:
    affine = Affine(fmpz_mat(1, 18, [1] * 18), (0,), 1)
    box = Interval.over(1, [0] * 18, [1] * 18)
    assert corner_maxima(affine, [0], [[1]], box) == [18]
    with limited():
        charge(MOST_WORK - 1000)
        with pytest.raises(Unsupported, match="more work"):
            corner_maxima(affine, [0], [[1]], box)


def test_long_numbers_count() -> None:
    affine = Affine(fmpz_mat(1, 18, [1] * 18), (0,), 1)
    box = Interval.over(1, [0] * 18, [10**3000] * 18)
    with pytest.raises(Unsupported, match="too many corners"):
        corner_maxima(affine, [0], [[1]], box)
