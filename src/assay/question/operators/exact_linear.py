"""Exact matrix products, convolutions, pools and reductions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from flint import fmpz_mat

from assay.errors import BadInput
from assay.question.operators.call import Call, Operator
from assay.question.operators.rational import Rational, aligned, as_objects, entries, product
from assay.question.operators.selection import reduced_axes
from assay.question.operators.window import Window, read_pool, read_window

_CHUNK = 2**20
"""Window entries multiplied at once; bounds the memory of a convolution."""


def gemm(call: Call[Rational]) -> Rational:
    left = call.value(0).matrix
    right = call.value(1).matrix
    left = left.transpose() if call.attribute("transA", 0) else left
    right = right.transpose() if call.attribute("transB", 0) else right
    denominator = call.value(0).denominator * call.value(1).denominator
    result = Rational(entries(left * right), denominator).times(_factor(call, "alpha"))
    bias = call.optional(2)
    return result if bias is None else _plus(result, bias.times(_factor(call, "beta")))


def matmul(call: Call[Rational]) -> Rational:
    return product(call.value(0), call.value(1))


def conv(call: Call[Rational]) -> Rational:
    x, weight = call.value(0), call.value(1)
    bias = call.optional(2)
    window = read_window(call, weight.shape[2:])
    groups = call.attribute("group", 1)
    channels = x.shape[1]
    filters = weight.shape[0]
    if groups < 1 or channels != groups * weight.shape[1] or filters % groups:
        raise BadInput(f"{call.place} has groups that do not fit its weight; fix the group")
    views = window.views(x.numerators, 0)
    inner, outer = channels // groups, filters // groups
    parts = [
        _slide(
            views[:, g * inner : (g + 1) * inner],
            weight.numerators[g * outer : (g + 1) * outer],
            window,
        )
        for g in range(groups)
    ]
    numerators = np.concatenate(parts, axis=1).reshape(call.output_shape())
    result = Rational(numerators, x.denominator * weight.denominator)
    if bias is None:
        return result
    return _plus(result, bias.like(bias.numerators.reshape(-1, *(1,) * len(window.kernel))))


def average_pool(call: Call[Rational]) -> Rational:
    x = call.value(0)
    window = read_pool(call)
    sums = _over_kernel(window, window.views(x.numerators, 0), np.add)
    full = math.prod(window.kernel)
    if call.attribute("count_include_pad", 0) or not window.padded:
        return Rational(sums, x.denominator * full)
    counts = window.coverage(x.shape[2:])
    common = math.lcm(*set(counts.ravel().tolist()))
    factors = as_objects([common // c for c in counts.ravel().tolist()]).reshape(counts.shape)
    return Rational(sums * factors, x.denominator * common)


def max_pool(call: Call[Rational]) -> Rational:
    x = call.value(0)
    window = read_pool(call)
    # Padding never wins: it is below every number of the input.
    views = window.views(x.numerators, min(x.numerators.ravel().tolist()) - 1)
    return x.like(_over_kernel(window, views, np.maximum))


def global_average_pool(call: Call[Rational]) -> Rational:
    x = call.value(0)
    axes = tuple(range(2, len(x.shape)))
    count = math.prod(x.shape[2:])
    return Rational(x.numerators.sum(axis=axes, keepdims=True), x.denominator * count)


def global_max_pool(call: Call[Rational]) -> Rational:
    x = call.value(0)
    axes = tuple(range(2, len(x.shape)))
    return x.like(np.maximum.reduce(x.numerators, axis=axes, keepdims=True))


def reduce_sum(call: Call[Rational]) -> Rational:
    return _reduced(call, np.add)


def reduce_mean(call: Call[Rational]) -> Rational:
    count = math.prod(call.input_shape(0)[axis] for axis in reduced_axes(call))
    return _reduced(call, np.add).times(Fraction(1, count))


def reduce_max(call: Call[Rational]) -> Rational:
    return _reduced(call, np.maximum)


def reduce_min(call: Call[Rational]) -> Rational:
    return _reduced(call, np.minimum)


def _reduced(call: Call[Rational], combine: np.ufunc) -> Rational:
    x, axes = call.value(0), reduced_axes(call)
    if not axes:
        return x
    keep = bool(call.attribute("keepdims", 1))
    return x.like(combine.reduce(x.numerators, axis=axes, keepdims=keep))


def _factor(call: Call[Rational], name: str) -> Fraction:
    return Fraction(float(call.attribute(name, 1.0)))


def _plus(x: Rational, bias: Rational) -> Rational:
    (a, b), denominator = aligned(x, bias)
    return Rational(a + b, denominator)


def _over_kernel(window: Window, views: np.ndarray, combine: np.ufunc) -> np.ndarray:
    kernel_axes = tuple(range(views.ndim - len(window.kernel), views.ndim))
    return np.asarray(combine.reduce(views, axis=kernel_axes))


def _slide(views: np.ndarray, weight: np.ndarray, window: Window) -> np.ndarray:
    """(batch, filters, positions): one group's filters at every position, in chunks."""
    rank = len(window.kernel)
    positions_first = (*range(1, 1 + rank), 0, *range(1 + rank, 1 + 2 * rank))
    taps = weight[0].size
    matrix = fmpz_mat(weight.shape[0], taps, weight.ravel().tolist()).transpose()
    images = []
    for image in views:
        by_position = image.transpose(positions_first)
        rows = max(1, _CHUNK // by_position[0].size)
        found = []
        for start in range(0, len(by_position), rows):
            block = by_position[start : start + rows].reshape(-1, taps)
            found.append(entries(fmpz_mat(len(block), taps, block.ravel().tolist()) * matrix))
        images.append(np.concatenate(found).T)
    return np.stack(images)


LINEAR: dict[str, Operator[Rational]] = {
    "AveragePool": average_pool,
    "Conv": conv,
    "Gemm": gemm,
    "GlobalAveragePool": global_average_pool,
    "GlobalMaxPool": global_max_pool,
    "MatMul": matmul,
    "MaxPool": max_pool,
    "ReduceMax": reduce_max,
    "ReduceMean": reduce_mean,
    "ReduceMin": reduce_min,
    "ReduceSum": reduce_sum,
}
