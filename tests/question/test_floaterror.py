from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.question.floaterror import Layer, output_error, survives_float32
from assay.question.property import Violation
from assay.question.region import Box


def network(seed: int, sizes: tuple[int, ...]) -> list[Layer]:
    draw = np.random.default_rng(seed)
    return [
        (
            draw.normal(size=(out, fan_in)).astype(np.float32),
            draw.normal(size=out).astype(np.float32),
        )
        for fan_in, out in pairwise(sizes)
    ]


def box(seed: int, inputs: int, radius: float) -> Box:
    centre = np.random.default_rng(seed).integers(-128, 129, inputs)
    return Box.around([Fraction(int(c), 256) for c in centre], Fraction(radius))


def exact_formula(layers: list[Layer], region: Box) -> list[Fraction]:
    """The stated formula, in rationals."""
    low, high = list(region.lower), list(region.upper)
    size = [max(abs(a), abs(b)) for a, b in zip(low, high, strict=True)]
    error = [Fraction(0)] * len(size)
    for position, (w, b) in enumerate(layers):
        rows = [[Fraction(float(v)) for v in row] for row in w]
        bias = [Fraction(float(v)) for v in b]
        n = len(rows[0])
        g = Fraction(n + 1, 2**24) / (1 - Fraction(n + 1, 2**24))
        error = [
            sum(abs(a) * e for a, e in zip(row, error, strict=True))
            + g * (sum(abs(a) * (m + e) for a, m, e in zip(row, size, error, strict=True)) + abs(c))
            + Fraction(n + 1, 2**149)
            for row, c in zip(rows, bias, strict=True)
        ]
        ends = [
            [
                c + sum(min(a * x, a * y) for a, x, y in zip(row, low, high, strict=True)),
                c + sum(max(a * x, a * y) for a, x, y in zip(row, low, high, strict=True)),
            ]
            for row, c in zip(rows, bias, strict=True)
        ]
        if position < len(layers) - 1:
            error = [
                Fraction(0) if u + e <= 0 else e for (_, u), e in zip(ends, error, strict=True)
            ]
            low = [max(a, Fraction(0)) for a, _ in ends]
            high = size = [max(u, Fraction(0)) for _, u in ends]
    return error


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    sizes=st.lists(st.integers(1, 6), min_size=2, max_size=5),
    radius=st.sampled_from([0.0, 2.0**-12, 0.25]),
)
def test_is_at_least_the_formula_and_hardly_more(
    seed: int, sizes: list[int], radius: float
) -> None:
    layers, region = network(seed, tuple(sizes)), box(seed, sizes[0], radius)
    bounds = output_error(layers, region)
    for stated, formula in zip(bounds, exact_formula(layers, region), strict=True):
        assert formula <= stated <= formula * (1 + Fraction(1, 10**9)) + Fraction(1, 2**120)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), sizes=st.lists(st.integers(1, 12), min_size=2, max_size=5))
def test_covers_float32_sums_in_any_order(seed: int, sizes: list[int]) -> None:
    layers, region = network(seed, tuple(sizes)), box(seed, sizes[0], 0.125)
    bounds = output_error(layers, region)
    draw = np.random.default_rng(seed)
    low = np.array([float(v) for v in region.lower], dtype=np.float32)
    point = np.minimum(low + draw.random(len(low)).astype(np.float32) / 4, low + np.float32(0.25))
    rough, true = point, [Fraction(float(v)) for v in point]
    for position, (w, b) in enumerate(layers):
        if position:
            rough, true = np.maximum(rough, 0), [max(v, Fraction(0)) for v in true]
        terms = np.concatenate([w * rough, b[:, None]], axis=1)
        shuffled = terms[:, draw.permutation(terms.shape[1])]
        rough = np.add.accumulate(shuffled, axis=1, dtype=np.float32)[:, -1]
        true = [
            Fraction(float(c)) + sum(Fraction(float(a)) * v for a, v in zip(row, true, strict=True))
            for row, c in zip(w, b, strict=True)
        ]
    for found, right, bound in zip(rough, true, bounds, strict=True):
        assert abs(Fraction(float(found)) - right) <= bound


def test_a_dead_unit_passes_no_error_on() -> None:
    one = np.ones((1, 1), dtype=np.float32)
    region = Box.around([Fraction(0)], Fraction(1))
    dead = [(one, np.array([-2.0], dtype=np.float32)), (one, np.zeros(1, dtype=np.float32))]
    alive = [(one, np.array([-1.0], dtype=np.float32)), (one, np.zeros(1, dtype=np.float32))]
    assert output_error(dead, region)[0] < Fraction(1, 2**140)
    assert output_error(alive, region)[0] > Fraction(1, 2**24)


def test_margin_must_exceed_the_error_of_both_scores() -> None:
    layers = network(3, (4, 5, 3))
    region = box(3, 4, 0.25)
    violation = Violation.misclassification(0, 3)
    error = output_error(layers, region)
    slack = error[0] + max(error[1:])
    for sign in (1, -1):
        assert not survives_float32(layers, region, violation, sign * slack)
        assert survives_float32(layers, region, violation, sign * slack * Fraction(1001, 1000))


def test_an_error_beyond_float64_survives_nothing() -> None:
    huge = np.full((1, 1), 2.0**120, dtype=np.float32)
    layers = [(huge, np.zeros(1, dtype=np.float32))] * 10
    region = Box.around([Fraction(1)], Fraction(1))
    with pytest.raises(OverflowError):
        output_error(layers, region)
    violation = Violation(1, Violation.misclassification(0, 2).disjuncts)
    assert not survives_float32(layers, region, violation, Fraction(10**30))
