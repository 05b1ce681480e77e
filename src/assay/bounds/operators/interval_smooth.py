"""Intervals through elementary functions, each bounded at the ends and where it turns.

torch's value v of a function is taken to be within SMOOTH |v| of the real one, or within TINY
where it underflows; known ranges (a sigmoid lies between 0 and 1) cut off the rest.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from assay.bounds.operators.interval_arithmetic import (
    across_kink,
    divided,
    minus,
    plus,
    times,
    to_natural_power,
)
from assay.bounds.rounding import SMOOTH, TINY, UNIT, Interval, above, below
from assay.errors import Unsupported
from assay.question.operators.call import Call, Operator

Function = Callable[[Tensor], Tensor]
_FARTHEST_ANGLE = 2.0**20
"""Beyond this the period of a sine is not resolved here; its range is [-1, 1]."""
_GELU_TURNS = (-0.76, -0.74)
_GELU_LEAST = {"none": -0.16998, "tanh": -0.17005}
"""GELU decreases before its turn and increases after it; its minimum is just above these."""


def enclosed(
    function: Function, x: Interval, least: float = -math.inf, most: float = math.inf
) -> Interval:
    """The range of an increasing function whose real values lie in [least, most]."""
    low, high = function(x.low), function(x.high)
    return Interval.sound(
        below(low - (low.abs() * SMOOTH + TINY)).clamp(min=least),
        above(high + (high.abs() * SMOOTH + TINY)).clamp(max=most),
    )


def exp(x: Interval) -> Interval:
    return enclosed(torch.exp, x, least=0.0)


def sigmoid(x: Interval) -> Interval:
    return enclosed(torch.sigmoid, x, 0.0, 1.0)


def tanh(x: Interval) -> Interval:
    return enclosed(torch.tanh, x, -1.0, 1.0)


def log(x: Interval) -> Interval:
    """Near 1 the logarithm is small, but its rounding is relative there as well."""
    return _where_defined(enclosed(torch.log, x), x.low > 0)


def sqrt(x: Interval) -> Interval:
    root = Interval.rounded(torch.sqrt(x.low), torch.sqrt(x.high))
    return _where_defined(Interval(root.low.clamp(min=0), root.high), x.low >= 0)


def softplus(x: Interval) -> Interval:
    # torch's own softplus is the identity beyond 20.
    return enclosed(lambda t: t.clamp(min=0) + torch.log1p(torch.exp(-t.abs())), x, least=0.0)


def _where_defined(result: Interval, defined: Tensor) -> Interval:
    """Nothing is known of a function outside its domain."""
    return Interval(
        torch.where(defined, result.low, -math.inf), torch.where(defined, result.high, math.inf)
    )


def _erf(call: Call[Interval]) -> Interval:
    return enclosed(torch.erf, call.value(0), -1.0, 1.0)


def _elu(call: Call[Interval]) -> Interval:
    x = call.value(0)
    alpha = Interval.exactly(x.low.new_tensor(float(call.attribute("alpha", 1.0))))

    def at(end: Tensor) -> Interval:
        point = Interval.exactly(end.clamp(max=0))
        bend = times(enclosed(torch.expm1, point, least=-1.0, most=0.0), alpha)
        return Interval(torch.where(end >= 0, end, bend.low), torch.where(end >= 0, end, bend.high))

    return across_kink(x, at(x.low), at(x.high))


def _sin(call: Call[Interval]) -> Interval:
    return _wave(torch.sin, call.value(0), math.pi / 2)


def _cos(call: Call[Interval]) -> Interval:
    return _wave(torch.cos, call.value(0), 0.0)


def _wave(function: Function, x: Interval, crest: float) -> Interval:
    """The range of a sine whose crests are at `crest` plus whole periods."""
    at_low = enclosed(function, Interval.exactly(x.low), -1.0, 1.0)
    at_high = enclosed(function, Interval.exactly(x.high), -1.0, 1.0)
    unresolved = x.size > _FARTHEST_ANGLE
    low = torch.minimum(at_low.low, at_high.low)
    high = torch.maximum(at_low.high, at_high.high)
    low = torch.where(unresolved | _meets(x, crest + math.pi), -1.0, low)
    high = torch.where(unresolved | _meets(x, crest), 1.0, high)
    return Interval.sound(low, high)


def _meets(x: Interval, point: float) -> Tensor:
    """Whether a whole number of periods from `point` may lie in x; never wrong about no."""
    period, slack = 2 * math.pi, 1e-6
    first = torch.ceil((x.low - point) / period - slack)
    return first <= (x.high - point) / period + slack


def _gelu(call: Call[Interval]) -> Interval:
    x = call.value(0)
    form = call.attribute("approximate", "none")
    if form not in _GELU_LEAST:
        raise Unsupported(f"{call.place} is not supported by bounds: approximation {form!r}")
    weight = _normal_share if form == "none" else _logistic_share
    at_low, at_high = (
        times(Interval.exactly(end), weight(Interval.exactly(end))) for end in (x.low, x.high)
    )
    least, (turn, turned) = _GELU_LEAST[form], _GELU_TURNS
    low = torch.minimum(at_low.low, at_high.low).clamp(min=least)
    low = torch.where((x.low <= turned) & (x.high >= turn), least, low)
    return Interval.sound(low, torch.maximum(at_low.high, at_high.high))


def _normal_share(x: Interval) -> Interval:
    """The normal distribution function, as erfc(-x / sqrt 2) / 2: no cancellation."""
    root = sqrt(Interval.exactly(x.low.new_tensor(2.0)))
    scaled = divided(x, root)
    return enclosed(lambda t: torch.special.erfc(-t) * 0.5, scaled, 0.0, 1.0)


def _logistic_share(x: Interval) -> Interval:
    """(1 + tanh y) / 2 = sigmoid(2 y) with y = sqrt(2 / pi) (x + 0.044715 x^3)."""
    number = x.low.new_tensor
    share = Interval.rounded(number(0.044715), number(0.044715))
    factor = Interval.rounded(number(math.sqrt(8 / math.pi)), number(math.sqrt(8 / math.pi)))
    wide = Interval(below(below(factor.low)), above(above(factor.high)))
    cube = to_natural_power(x, torch.full((1,) * x.low.ndim, 3, device=x.low.device))
    return sigmoid(times(plus(x, times(cube, share)), wide))


def softmax_of(call: Call[Interval]) -> Interval:
    """The shares that a node's scores give, for Softmax and LogSoftmax alike."""
    x, axis, shape = _softmax_axis(call)
    low, high = softmax(x, axis)
    return Interval(low.reshape(shape), high.reshape(shape))


def _log_softmax(call: Call[Interval]) -> Interval:
    x, axis, shape = _softmax_axis(call)
    share = Interval(*softmax(x, axis))
    shift = x.high.amax(dim=axis, keepdim=True)
    total = exp(minus(Interval.exactly(x.high), Interval.exactly(shift))).high
    count = x.high.shape[axis]
    sum_above = above(total.sum(dim=axis, keepdim=True) * (1 + 4 * count * UNIT))
    crude = minus(
        Interval.exactly(x.low), plus(Interval.exactly(shift), log(Interval.exactly(sum_above)))
    )
    # Shares that underflow still have a logarithm, which the crude form keeps finite.
    logs = enclosed(torch.log, share)
    low = torch.maximum(logs.low, crude.low)
    return Interval.sound(low.reshape(shape), logs.high.clamp(max=0).reshape(shape))


def softmax(x: Interval, axis: int) -> tuple[Tensor, Tensor]:
    """Bounds of the shares: own exponential over itself plus the others', all positive.

    a / (a + s) grows with a and falls with s, so the lower bound takes the least own and the most
    of the others. Sums over the others add what comes before and after: nothing cancels.
    """
    shift = Interval.exactly(x.high.amax(dim=axis, keepdim=True))
    own = exp(minus(x, shift))
    roundings = 1 + 4 * x.low.shape[axis] * UNIT
    least_others = _others(own.low, axis) / roundings
    most_others = _others(own.high, axis) * roundings
    low = below(below(own.low) / above(above(own.low + most_others)))
    high = above(above(own.high) / below(below(own.high + least_others)))
    return (
        torch.nan_to_num(low, nan=0.0).clamp(min=0.0, max=1.0),
        torch.nan_to_num(high, nan=1.0).clamp(min=0.0, max=1.0),
    )


def _others(x: Tensor, axis: int) -> Tensor:
    """The sum of all but each number along `axis`."""
    before = torch.cumsum(x, dim=axis).roll(1, dims=axis)
    after = torch.cumsum(x.flip(axis), dim=axis).roll(1, dims=axis).flip(axis)
    place = torch.arange(x.shape[axis], device=x.device)
    place = place.reshape(-1, *(1,) * (x.ndim - 1 - axis))
    zero = x.new_zeros(())
    return torch.where(place == 0, zero, before) + torch.where(
        place == x.shape[axis] - 1, zero, after
    )


def _softmax_axis(call: Call[Interval]) -> tuple[Interval, int, torch.Size]:
    x = call.value(0)
    shape, rank = x.low.shape, x.low.ndim - 1
    if call.node.opset >= 13:
        return x, 1 + call.axis(call.attribute("axis", -1), rank), shape
    # Before opset 13 all axes from the given one on are one long axis.
    axis = 1 + call.axis(call.attribute("axis", 1), rank)
    return Interval(x.low.flatten(axis), x.high.flatten(axis)), axis, shape


def _unary(function: Callable[[Interval], Interval]) -> Operator[Interval]:
    return lambda call: function(call.value(0))


SMOOTH_FUNCTIONS: dict[str, Operator[Interval]] = {
    "Cos": _cos,
    "Elu": _elu,
    "Erf": _erf,
    "Exp": _unary(exp),
    "Gelu": _gelu,
    "Log": _unary(log),
    "LogSoftmax": _log_softmax,
    "Sigmoid": _unary(sigmoid),
    "Sin": _sin,
    "Softmax": softmax_of,
    "Softplus": _unary(softplus),
    "Sqrt": _unary(sqrt),
    "Tanh": _unary(tanh),
}
