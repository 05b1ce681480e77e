"""How much the slope of a function of one number varies over an interval.

A smooth slope is largest and least at the ends of the interval or where it turns. A kink counts
only strictly inside: an interval that ends there has one slope. Where the slope has no bound,
because the interval leaves the domain, the variation is infinite. Plain float64: these numbers
describe a network, they prove nothing about it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce

import torch
from torch import Tensor

from assay.bounds.operators.interval_arithmetic import aligned, leaky_slope, power_operands
from assay.bounds.operators.interval_movement import highs, lows
from assay.bounds.rounding import Interval
from assay.errors import Unsupported
from assay.question.operators.call import Call
from assay.question.operators.torch_elementwise import clip_bound

SlopeRule = Callable[[Call[Interval]], Tensor]
Function = Callable[[Tensor], Tensor]
_HAIR = 2.0**-40
_NORMAL_PEAK = 1 / math.sqrt(2 * math.pi)
_ERF_SLOPE = 2 / math.sqrt(math.pi)
_FLAT = 40.0
"""Beyond this both forms of GELU have the slopes 0 and 1 to the last digit."""
_CUBIC_SHARE, _CUBIC_SCALE = 0.044715, math.sqrt(2 / math.pi)
_GELU_TURNS = {"none": math.sqrt(2), "tanh": 1.4185040087908284}
"""The slopes of both forms turn at plus and minus this and nowhere else."""


def spread(slopes: Sequence[Tensor]) -> Tensor:
    """The largest minus the least of some slopes; infinite where one is not known."""
    most, least = reduce(torch.maximum, slopes), reduce(torch.minimum, slopes)
    return torch.nan_to_num(most - least, nan=math.inf, posinf=math.inf)


def width(x: Interval) -> Tensor:
    return spread([x.low, x.high])


def crosses_zero(x: Interval) -> Tensor:
    """Whether zero lies inside, by more than outward rounding may have added to the interval."""
    hair = torch.nan_to_num((x.high - x.low) * _HAIR, posinf=0.0)
    return (x.low < -hair) & (x.high > hair)


def over(slope: Function, x: Interval, turns: Sequence[float] = ()) -> Tensor:
    """The variation of a continuous slope that turns at these points only."""
    inside = [torch.minimum(torch.full_like(x.low, t).maximum(x.low), x.high) for t in turns]
    varied = spread([slope(t) for t in (x.low, x.high, *inside)])
    return torch.where(x.low == x.high, 0.0, varied)


def _smooth(slope: Function, *turns: float) -> SlopeRule:
    return lambda call: over(slope, call.value(0), turns)


def _on_positive(slope: Function) -> SlopeRule:
    def run(call: Call[Interval]) -> Tensor:
        x = call.value(0)
        return torch.where(x.low > 0, over(slope, x), math.inf)

    return run


def _bell(x: Tensor) -> Tensor:
    """The slope of the sigmoid."""
    return torch.sigmoid(x) * torch.sigmoid(-x)


def _inverse_square(x: Tensor) -> Tensor:
    return (1 / x) / x


def _reciprocal(call: Call[Interval]) -> Tensor:
    x = call.value(0)
    return torch.where((x.low > 0) | (x.high < 0), over(_inverse_square, x), math.inf)


def _sin(call: Call[Interval]) -> Tensor:
    x = call.value(0)
    return _of_cosine(torch.atan2(torch.sin(x.low), torch.cos(x.low)), width(x))


def _cos(call: Call[Interval]) -> Tensor:
    """The slope -sin(x) is the cosine of x plus a quarter turn."""
    x = call.value(0)
    return _of_cosine(torch.atan2(torch.cos(x.low), -torch.sin(x.low)), width(x))


def _of_cosine(phase: Tensor, length: Tensor) -> Tensor:
    """The variation of the cosine from a phase in [-pi, pi] on, which far angles keep exact."""
    start = torch.nan_to_num(phase, nan=0.0)
    stop = start + length.clamp(max=2 * math.pi)
    return over(torch.cos, Interval(start, stop), (0.0, math.pi, 2 * math.pi))


def _gelu(call: Call[Interval]) -> Tensor:
    form = call.attribute("approximate", "none")
    if form not in _GELU_TURNS:
        raise Unsupported(f"{call.place} has no rule for the unstable fraction: form {form!r}")
    turn = _GELU_TURNS[form]
    slope = _gelu_slope if form == "none" else _gelu_tanh_slope
    x = call.value(0)
    bounded = Interval(x.low.clamp(-_FLAT, _FLAT), x.high.clamp(-_FLAT, _FLAT))
    return over(slope, bounded, (-turn, turn))


def _gelu_slope(x: Tensor) -> Tensor:
    """The normal distribution function plus x times its density."""
    share: Tensor = torch.special.erfc(-x / math.sqrt(2)) * 0.5
    return share + x * torch.exp(-x * x / 2) * _NORMAL_PEAK


def _gelu_tanh_slope(x: Tensor) -> Tensor:
    """Of x sigmoid(2 y), y = scale (x + share x^3)."""
    doubled = 2 * _CUBIC_SCALE * (x + _CUBIC_SHARE * x**3)
    steepness = 2 * _CUBIC_SCALE * (1 + 3 * _CUBIC_SHARE * x * x)
    return torch.sigmoid(doubled) + x * _bell(doubled) * steepness


def _elu(call: Call[Interval]) -> Tensor:
    """alpha exp(x) below zero and 1 above it."""
    x, alpha = call.value(0), float(call.attribute("alpha", 1.0))
    bends = [alpha * torch.exp(end.clamp(max=0)) for end in (x.low, x.high)]
    one = torch.ones_like(x.low)
    within = spread(bends)
    return torch.where(crosses_zero(x), spread([*bends, one]), torch.where(x.low < 0, within, 0.0))


def _bent(x: Interval, slope: Tensor) -> Tensor:
    """Slope 1 above zero and `slope` below it."""
    return torch.where(crosses_zero(x), (1 - slope).abs(), 0.0)


def _relu(call: Call[Interval]) -> Tensor:
    return crosses_zero(call.value(0)).to(torch.float64)


def _leaky_relu(call: Call[Interval]) -> Tensor:
    x = call.value(0)
    return _bent(x, leaky_slope(call, x.low).low)


def _prelu(call: Call[Interval]) -> Tensor:
    x, slope = aligned(call.value(0), call.value(1))
    return _bent(x, slope.low)


def _abs(call: Call[Interval]) -> Tensor:
    return 2.0 * crosses_zero(call.value(0))


def _clip(call: Call[Interval]) -> Tensor:
    """The smaller of the upper bound and of the larger of x and the lower bound."""
    x, ends = call.value(0), (lows(call), highs(call))
    stable = torch.ones_like(x.low, dtype=torch.bool)
    low, high = (clip_bound(end, 1, "min") for end in ends)
    if low is not None and high is not None:
        stable = (x.low >= high) | (x.high <= low)
        x = Interval(torch.maximum(x.low, low), torch.maximum(x.high, high))
    low, high = (clip_bound(end, 2, "max") for end in ends)
    if low is not None and high is not None:
        stable = (stable & (x.high <= low)) | (x.low >= high)
    return (~stable).to(torch.float64)


def _pow(call: Call[Interval]) -> Tensor:
    """n x^(n - 1) turns at zero, if at all."""
    x, exponents = power_operands(call)
    less = (exponents - 1).clamp(min=0).to(x.low.dtype)
    return over(lambda t: exponents * torch.pow(t, less), x, (0.0,))


CURVES: dict[str, SlopeRule] = {
    "Abs": _abs,
    "Clip": _clip,
    "Cos": _cos,
    "Elu": _elu,
    "Erf": _smooth(lambda x: _ERF_SLOPE * torch.exp(-x * x), 0.0),
    "Exp": _smooth(torch.exp),
    "Gelu": _gelu,
    "LeakyRelu": _leaky_relu,
    "Log": _on_positive(torch.reciprocal),
    "PRelu": _prelu,
    "Pow": _pow,
    "Reciprocal": _reciprocal,
    "Relu": _relu,
    "Sigmoid": _smooth(_bell, 0.0),
    "Sin": _sin,
    "Softplus": _smooth(torch.sigmoid),
    "Sqrt": _on_positive(lambda x: 0.5 * torch.rsqrt(x)),
    "Tanh": _smooth(lambda x: 4 * _bell(2 * x), 0.0),
}
