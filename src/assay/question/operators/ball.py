"""Operators in ball arithmetic, on tensors of Arb balls: what they return contains the truth."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from flint import arb, arb_mat

from assay.errors import BadInput, Unsupported
from assay.question.operators.call import Call, Operator, Shape
from assay.question.operators.exact_movement import MOVEMENT
from assay.question.operators.rational import Rational
from assay.question.operators.selection import reduced_axes, refuse_training
from assay.question.operators.window import Window, read_pool, read_window

MOST_PRODUCTS = 2**28
"""Multiplications in one linear operator; Arb does some millions a second."""


@dataclass(frozen=True, eq=False)
class Balls:
    """A tensor of Arb balls, as an object array."""

    values: np.ndarray

    def __post_init__(self) -> None:
        # Arithmetic on an object array without dimensions gives a bare ball.
        object.__setattr__(self, "values", np.asarray(self.values, dtype=object))

    @property
    def shape(self) -> Shape:
        return self.values.shape


Ball = Any
"""One flint.arb, which comes without types."""


def objects(values: Sequence[Ball], shape: Shape) -> np.ndarray:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array.reshape(shape)


def each(array: np.ndarray, function: Callable[[Ball], Ball]) -> np.ndarray:
    return objects([function(v) for v in array.ravel().tolist()], array.shape)


def _number(value: float) -> Ball:
    """A float32 attribute as the graph means it."""
    return arb(float(np.float32(value)))


def _unary(function: Callable[[Ball], Ball]) -> Operator[Balls]:
    return lambda call: Balls(each(call.value(0).values, function))


def _joined(function: Callable[..., Any]) -> Operator[Balls]:
    return lambda call: Balls(reduce(function, (t.values for t in call.values())))


_largest = np.frompyfunc(lambda a, b: a.max(b), 2, 1)
_smallest = np.frompyfunc(lambda a, b: a.min(b), 2, 1)


def _relu(x: Ball) -> Ball:
    return x.max(arb(0))


def _sigmoid(x: Ball) -> Ball:
    return 1 / (1 + (-x).exp())


def _softplus(x: Ball) -> Ball:
    return x.exp().log1p()


def _elu(call: Call[Balls]) -> Balls:
    alpha = _number(call.attribute("alpha", 1.0))
    bend = lambda x: _relu(x) + alpha * x.min(arb(0)).expm1()  # noqa: E731 - one formula
    return Balls(each(call.value(0).values, bend))


def _gelu(call: Call[Balls]) -> Balls:
    if call.attribute("approximate", "none") != "none":
        raise Unsupported(f"{call.place} is not supported in ball arithmetic: approximate")
    half = lambda x: x * (1 + (x / arb(2).sqrt()).erf()) / 2  # noqa: E731 - one formula
    return Balls(each(call.value(0).values, half))


def _leaky_relu(call: Call[Balls]) -> Balls:
    return _bent(call.value(0), Balls(_number(call.attribute("alpha", 0.01))))


def _prelu(call: Call[Balls]) -> Balls:
    return _bent(call.value(0), call.value(1))


def _bent(x: Balls, slope: Balls) -> Balls:
    zero = arb(0)
    return Balls(_largest(x.values, zero) + slope.values * _smallest(x.values, zero))


def _power(call: Call[Balls]) -> Balls:
    exponents = call.constant(1)
    if any(e < 0 or e != int(e) for e in exponents.ravel().tolist()):
        raise Unsupported(f"{call.place} is not supported: its exponent is no natural number")
    raised = np.frompyfunc(lambda x, e: x ** int(e), 2, 1)
    return Balls(raised(call.value(0).values, exponents.astype(object)))


def _mean(call: Call[Balls]) -> Balls:
    return Balls(reduce(np.add, (t.values for t in call.values())) / arb(len(call.node.inputs)))


def _clip(call: Call[Balls]) -> Balls:
    x = call.value(0).values
    for index, label, choose in ((1, "min", _largest), (2, "max", _smallest)):
        if label in call.node.attributes:
            x = choose(x, _number(call.attribute(label, 0.0)))
        elif call.has(index):
            x = choose(x, call.value(index).values.reshape(()))
    return Balls(x)


def _batch_normalization(call: Call[Balls]) -> Balls:
    refuse_training(call)
    x = call.value(0).values
    per_channel = (-1, *(1,) * (x.ndim - 2))
    scale, bias, centre, variance = (call.value(i).values.reshape(per_channel) for i in range(1, 5))
    epsilon = _number(call.attribute("epsilon", 1e-5))
    return Balls((x - centre) * scale * each(variance + epsilon, lambda v: v.rsqrt()) + bias)


def _softmax(call: Call[Balls]) -> Balls:
    exponentials, total = _exponentials(call)
    return Balls((exponentials / total).reshape(call.output_shape()))


def _log_softmax(call: Call[Balls]) -> Balls:
    exponentials, total = _exponentials(call)
    return Balls(each((exponentials / total).reshape(call.output_shape()), lambda v: v.log()))


def _exponentials(call: Call[Balls]) -> tuple[np.ndarray, np.ndarray]:
    """exp(x) and its sums; Arb's exponents are unbounded, so nothing needs to be subtracted."""
    x = call.value(0).values
    if call.node.opset >= 13:
        axis = call.axis(call.attribute("axis", -1), x.ndim)
    else:  # Before opset 13 all axes from the given one on are one long axis.
        axis = call.axis(call.attribute("axis", 1), x.ndim)
        x = x.reshape(*x.shape[:axis], -1)
    exponentials = each(x, lambda v: v.exp())
    return exponentials, exponentials.sum(axis=axis, keepdims=True)


def _product(call: Call[Balls], left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """A matrix product."""
    (rows, inner), columns = left.shape, right.shape[1]
    if rows * inner * columns > MOST_PRODUCTS:
        raise Unsupported(f"{call.place} is too large for ball arithmetic")
    found = arb_mat(rows, inner, left.ravel().tolist()) * arb_mat(
        inner, columns, right.ravel().tolist()
    )
    return objects(found.entries(), (rows, columns))


def _gemm(call: Call[Balls]) -> Balls:
    left, right = call.value(0).values, call.value(1).values
    left = left.T if call.attribute("transA", 0) else left
    right = right.T if call.attribute("transB", 0) else right
    result = _product(call, left, right) * _number(call.attribute("alpha", 1.0))
    bias = call.optional(2)
    if bias is not None:
        result = result + bias.values * _number(call.attribute("beta", 1.0))
    return Balls(result)


def _matmul(call: Call[Balls]) -> Balls:
    a, b = call.value(0).values, call.value(1).values
    left = a[np.newaxis, :] if a.ndim == 1 else a
    right = b[:, np.newaxis] if b.ndim == 1 else b
    stack = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    lefts = np.broadcast_to(left, (*stack, *left.shape[-2:]))
    rights = np.broadcast_to(right, (*stack, *right.shape[-2:]))
    result = np.empty((*stack, left.shape[-2], right.shape[-1]), dtype=object)
    for index in np.ndindex(*stack):
        result[index] = _product(call, lefts[index], rights[index])
    return Balls(result.reshape(call.output_shape()))


def _conv(call: Call[Balls]) -> Balls:
    x, weight = call.value(0).values, call.value(1).values
    bias = call.optional(2)
    window = read_window(call, weight.shape[2:])
    groups, filters = call.attribute("group", 1), weight.shape[0]
    if groups < 1 or x.shape[1] != groups * weight.shape[1] or filters % groups:
        raise BadInput(f"{call.place} has groups that do not fit its weight; fix the group")
    views = window.views(x, arb(0))
    rank, inner, outer = len(window.kernel), weight.shape[1], filters // groups
    positions_first = (*range(1, 1 + rank), 0, *range(1 + rank, 1 + 2 * rank))
    taps = weight[0].size
    images = []
    for image in views:
        parts = []
        for g in range(groups):
            seen = image[g * inner : (g + 1) * inner].transpose(positions_first).reshape(-1, taps)
            kernels = weight[g * outer : (g + 1) * outer].reshape(outer, taps)
            parts.append(_product(call, kernels, seen.T))
        images.append(np.concatenate(parts))
    result = np.stack(images).reshape(call.output_shape())
    if bias is not None:
        result = result + bias.values.reshape(-1, *(1,) * rank)
    return Balls(result)


def _pool(call: Call[Balls], fill: Ball, combine: Any) -> tuple[np.ndarray, Window]:
    window = read_pool(call)
    views = window.views(call.value(0).values, fill)
    axes = tuple(range(views.ndim - len(window.kernel), views.ndim))
    flat = views.reshape(*views.shape[: axes[0]], -1)
    return combine.reduce(flat, axis=-1), window


def _average_pool(call: Call[Balls]) -> Balls:
    sums, window = _pool(call, arb(0), np.add)
    if call.attribute("count_include_pad", 0) or not window.padded:
        return Balls(sums / arb(math.prod(window.kernel)))
    counts = window.coverage(call.input_shape(0)[2:])
    return Balls(sums / each(counts.astype(object), arb))


def _max_pool(call: Call[Balls]) -> Balls:
    return Balls(_pool(call, arb.neg_inf(), _largest)[0])


def _reduction(combine: Any, *, averaged: bool = False) -> Operator[Balls]:
    def run(call: Call[Balls]) -> Balls:
        x, axes = call.value(0).values, reduced_axes(call)
        for axis in axes:
            x = combine.reduce(x, axis=axis, keepdims=True)
        if averaged:
            x = x / arb(math.prod(call.input_shape(0)[axis] for axis in axes))
        return Balls(x.reshape(call.output_shape()))

    return run


def _global_average_pool(call: Call[Balls]) -> Balls:
    x = call.value(0).values
    total = x.sum(axis=tuple(range(2, x.ndim)), keepdims=True)
    return Balls(total / arb(math.prod(x.shape[2:])))


def _moved(operator: Operator[Rational]) -> Operator[Balls]:
    """An exact operator that only moves numbers: it works on whatever the numbers are."""

    def run(call: Call[Balls]) -> Balls | tuple[Balls, ...]:
        plain = tuple(None if x is None else Rational(x.values, 1) for x in call.inputs)
        result = operator(Call(call.network, call.node, plain))
        if isinstance(result, tuple):
            return tuple(_unwrapped(part) for part in result)
        return _unwrapped(result)

    return run


def _unwrapped(moved: Rational) -> Balls:
    # Padding with an attribute's value brings a denominator along.
    return Balls(moved.numerators / arb(moved.denominator))


BALL_OPERATORS: Mapping[str, Operator[Balls]] = {
    **{name: _moved(operator) for name, operator in MOVEMENT.items()},
    "Abs": _unary(abs),
    "Add": _joined(np.add),
    "AveragePool": _average_pool,
    "BatchNormalization": _batch_normalization,
    "Clip": _clip,
    "Conv": _conv,
    "Cos": _unary(lambda x: x.cos()),
    "Div": _joined(np.divide),
    "Elu": _elu,
    "Erf": _unary(lambda x: x.erf()),
    "Exp": _unary(lambda x: x.exp()),
    "Gelu": _gelu,
    "Gemm": _gemm,
    "GlobalAveragePool": _global_average_pool,
    "LeakyRelu": _leaky_relu,
    "Log": _unary(lambda x: x.log()),
    "LogSoftmax": _log_softmax,
    "MatMul": _matmul,
    "Max": _joined(_largest),
    "MaxPool": _max_pool,
    "Mean": _mean,
    "Min": _joined(_smallest),
    "Mul": _joined(np.multiply),
    "Neg": _unary(lambda x: -x),
    "PRelu": _prelu,
    "Pow": _power,
    "Reciprocal": _unary(lambda x: 1 / x),
    "ReduceMax": _reduction(_largest),
    "ReduceMean": _reduction(np.add, averaged=True),
    "ReduceMin": _reduction(_smallest),
    "ReduceSum": _reduction(np.add),
    "Relu": _unary(_relu),
    "Sigmoid": _unary(_sigmoid),
    "Sin": _unary(lambda x: x.sin()),
    "Softmax": _softmax,
    "Softplus": _unary(_softplus),
    "Sqrt": _unary(lambda x: x.sqrt()),
    "Sub": _joined(np.subtract),
    "Sum": _joined(np.add),
    "Tanh": _unary(lambda x: x.tanh()),
}
"""Adding an operator is one function or formula and one line here."""
