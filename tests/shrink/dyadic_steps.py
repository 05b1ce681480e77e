"""Small networks whose weights are few-bit numbers, so that cuts lose nothing to rounding."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
from hypothesis import strategies as st

from assay.question.convolution import ConvLayer
from assay.question.exact import evaluate
from assay.question.network import load
from assay.shrink.steps import Elementwise, Flatten, Matrix, Pool, Steps

RELU = Elementwise("Relu")
quarters = st.integers(-12, 12).map(lambda n: n / 4)


def array(draw: st.DrawFn, *shape: int) -> np.ndarray:
    count = int(np.prod(shape))
    values = draw(st.lists(quarters, min_size=count, max_size=count))
    return np.array(values, np.float32).reshape(shape)


@st.composite
def matrices(draw: st.DrawFn, inputs: int, units: int) -> Matrix:
    added = draw(st.booleans())
    bias = None if added and draw(st.booleans()) else array(draw, units)
    return Matrix(array(draw, units, inputs), bias, added)


@st.composite
def mlps(draw: st.DrawFn, *, least_inputs: int = 1) -> Steps:
    """One to three matrices with ReLUs between."""
    widths = draw(st.lists(st.integers(1, 4), min_size=2, max_size=4))
    widths[0] = max(widths[0], least_inputs)
    items: list[Matrix | Elementwise] = []
    for inputs, units in pairwise(widths):
        items += [*([RELU] if items else []), draw(matrices(inputs, units))]
    return Steps((1, widths[0]), tuple(items))


@st.composite
def cnns(draw: st.DrawFn) -> Steps:
    """Two convolutions, a pool perhaps, a matrix."""
    colours, middle, channels = (draw(st.integers(1, 3)) for _ in range(3))
    side = draw(st.integers(2, 4))
    first = ConvLayer(
        array(draw, middle, colours, 3, 3), array(draw, middle), (colours, side, side)
    )
    second = ConvLayer(
        array(draw, channels, middle, 2, 2),
        array(draw, channels),
        (middle, side, side),
        pads=(0, 0, 0, 0),
    )
    pool = Pool(draw(st.sampled_from(["AveragePool", "MaxPool"])), (1, 1))
    pools = (pool,) if draw(st.booleans()) else ()
    size = channels * (side - 1) ** 2
    items = (first, RELU, second, *pools, RELU, Flatten(), draw(matrices(size, 2)))
    return Steps((1, colours, side, side), items)


def points(count: int) -> st.SearchStrategy[list[Fraction]]:
    return st.lists(
        st.integers(-8, 8).map(lambda n: Fraction(n, 4)), min_size=count, max_size=count
    )


def outputs(steps: Steps, point: list[Fraction]) -> list[Fraction]:
    return list(evaluate(load(steps.onnx(), "steps"), point))


def inputs(steps: Steps) -> int:
    return int(np.prod(steps.input_shape))
