"""Interval arithmetic number by number, with broadcasting: sums, products, quotients, powers."""

from __future__ import annotations

import math
from functools import reduce

import numpy as np
import torch
from torch import Tensor

from assay.bounds.rounding import Interval, above, below
from assay.errors import Unsupported
from assay.question.operators.call import Call, Operator
from assay.question.operators.torch_elementwise import lifted

_HIGHEST_POWER = 2**31


def plus(a: Interval, b: Interval) -> Interval:
    return Interval.rounded(a.low + b.low, a.high + b.high)


def minus(a: Interval, b: Interval) -> Interval:
    return Interval.rounded(a.low - b.high, a.high - b.low)


def negated(x: Interval) -> Interval:
    return Interval(-x.high, -x.low)


def times(a: Interval, b: Interval) -> Interval:
    ends: tuple[Tensor, ...]
    if b.exact:
        ends = (a.low * b.low, a.high * b.low)
    elif a.exact:
        ends = (b.low * a.low, b.high * a.low)
    else:
        ends = (a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high)
    return Interval.rounded(reduce(torch.minimum, ends), reduce(torch.maximum, ends))


def divided(a: Interval, b: Interval) -> Interval:
    """Where the divisor may be zero nothing is known of the quotient."""
    ends = (a.low / b.low, a.low / b.high, a.high / b.low, a.high / b.high)
    safe = (b.low > 0) | (b.high < 0)
    return Interval.rounded(
        torch.where(safe, reduce(torch.minimum, ends), -math.inf),
        torch.where(safe, reduce(torch.maximum, ends), math.inf),
    )


def sizes(x: Interval) -> Interval:
    """The absolute values."""
    least = torch.maximum(x.low, -x.high).clamp(min=0)
    return Interval(least, x.size)


def squared(x: Interval) -> Interval:
    size = sizes(x)
    square = Interval.rounded(size.low * size.low, size.high * size.high)
    return Interval(square.low.clamp(min=0), square.high)


def to_natural_power(x: Interval, exponents: Tensor) -> Interval:
    """x to natural exponents, number by number, by repeated squaring of absolute values."""
    size = sizes(x)
    even = Interval(*_powers(size, exponents))
    from_low = _powers(Interval.exactly(x.low.abs()), exponents)
    from_high = _powers(Interval.exactly(x.high.abs()), exponents)
    odd_low = torch.where(x.low >= 0, from_low[0], -from_low[1])
    odd_high = torch.where(x.high >= 0, from_high[1], -from_high[0])
    is_even = exponents % 2 == 0
    return Interval.sound(
        torch.where(is_even, even.low, odd_low), torch.where(is_even, even.high, odd_high)
    )


def bent(x: Interval, slope: Interval) -> Interval:
    """x where positive, slope * x elsewhere, the slope being constant; the kink is at zero."""
    at_low, at_high = (
        Interval(
            torch.where(end >= 0, end, below(end * slope.low)),
            torch.where(end >= 0, end, above(end * slope.low)),
        )
        for end in (x.low, x.high)
    )
    return across_kink(x, at_low, at_high)


def across_kink(x: Interval, at_low: Interval, at_high: Interval) -> Interval:
    """The range of a function that is zero at zero and monotone on either side of it."""
    low = torch.minimum(at_low.low, at_high.low)
    high = torch.maximum(at_low.high, at_high.high)
    crossing = (x.low < 0) & (x.high > 0)
    return Interval.sound(
        torch.where(crossing, low.clamp(max=0), low), torch.where(crossing, high.clamp(min=0), high)
    )


def aligned(*values: Interval) -> list[Interval]:
    """Intervals of equal rank; constants stay constants."""
    rank = max(x.low.ndim for x in values)
    return [x if x.low.ndim == rank else _lifted(x, rank) for x in values]


def _lifted(x: Interval, rank: int) -> Interval:
    like = x.low.new_empty((1,) * rank)
    low = lifted(x.low, like)[0]
    return Interval.exactly(low) if x.exact else Interval(low, lifted(x.high, like)[0])


def _powers(size: Interval, exponents: Tensor) -> tuple[Tensor, Tensor]:
    """Lower and upper bounds of the powers of nonnegative numbers."""
    low = high = torch.ones_like(size.low * exponents)
    base_low, base_high = size.low, size.high
    left = exponents
    while bool((left > 0).any()):
        odd = left % 2 == 1
        low = torch.where(odd, below(low * base_low).clamp(min=0), low)
        high = torch.where(odd, above(high * base_high), high)
        left = left // 2
        base_low = below(base_low * base_low).clamp(min=0)
        base_high = above(base_high * base_high)
    return low, high


def _add(call: Call[Interval]) -> Interval:
    return reduce(plus, aligned(*call.values()))


def _sub(call: Call[Interval]) -> Interval:
    return minus(*aligned(call.value(0), call.value(1)))


def _neg(call: Call[Interval]) -> Interval:
    return negated(call.value(0))


def _mul(call: Call[Interval]) -> Interval:
    if call.node.inputs[0] == call.node.inputs[1]:
        return squared(call.value(0))
    return times(*aligned(call.value(0), call.value(1)))


def _div(call: Call[Interval]) -> Interval:
    return divided(*aligned(call.value(0), call.value(1)))


def _reciprocal(call: Call[Interval]) -> Interval:
    x = call.value(0)
    return divided(Interval.exactly(torch.ones_like(x.low)), x)


def _abs(call: Call[Interval]) -> Interval:
    return sizes(call.value(0))


def _leaky_relu(call: Call[Interval]) -> Interval:
    return bent(call.value(0), leaky_slope(call, call.value(0).low))


def _prelu(call: Call[Interval]) -> Interval:
    x, slope = aligned(call.value(0), call.value(1))
    if not slope.exact:
        raise Unsupported(f"{call.place} is not supported by bounds: its slope is not constant")
    return bent(x, slope)


def leaky_slope(call: Call[Interval], like: Tensor) -> Interval:
    return Interval.exactly(like.new_tensor(float(np.float32(call.attribute("alpha", 0.01)))))


def power_operands(call: Call[Interval]) -> tuple[Interval, Tensor]:
    """The base and the natural exponents of Pow, of equal rank."""
    x, given = call.value(0), call.constant(1).astype(np.float64)
    if not ((given >= 0) & (given == np.floor(given)) & (given < _HIGHEST_POWER)).all():
        raise Unsupported(
            f"{call.place} is not supported by bounds: its exponent is no natural number"
        )
    exponents = torch.as_tensor(given.astype(np.int64), device=x.low.device).unsqueeze(0)
    rank = max(x.low.ndim, exponents.ndim)
    x = x if x.low.ndim == rank else _lifted(x, rank)
    return x, exponents.reshape(1, *(1,) * (rank - exponents.ndim), *exponents.shape[1:])


def _pow(call: Call[Interval]) -> Interval:
    return to_natural_power(*power_operands(call))


ARITHMETIC: dict[str, Operator[Interval]] = {
    "Abs": _abs,
    "Add": _add,
    "Div": _div,
    "LeakyRelu": _leaky_relu,
    "Mul": _mul,
    "Neg": _neg,
    "PRelu": _prelu,
    "Pow": _pow,
    "Reciprocal": _reciprocal,
    "Sub": _sub,
    "Sum": _add,
}
