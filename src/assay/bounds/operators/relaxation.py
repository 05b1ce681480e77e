"""Nonlinear operators between two lines: what backward bounds put in their place.

An operator with a kink at zero (Relu and its kin) leaves one slope free where the interval crosses
the kink: any slope between the two sides, through the origin, is valid on the round side. Its
`blend` in [0, 1] may be chosen by optimisation; splitting the interval at zero makes it exact.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from assay.bounds.operators.interval_arithmetic import (
    aligned,
    divided,
    leaky_slope,
    minus,
    negated,
    squared,
    times,
    to_natural_power,
)
from assay.bounds.operators.interval_smooth import (
    enclosed,
    exp,
    log,
    sigmoid,
    softplus,
    sqrt,
    tanh,
)
from assay.bounds.operators.lines import (
    Line,
    Lines,
    around_concave,
    around_convex,
    around_s_shape,
    constant,
    mirrored,
    reliable,
)
from assay.bounds.rounding import Interval, above, below
from assay.question.operators.call import Call

_TWO_OVER_ROOT_PI = 1.1283791670955126


@dataclass(frozen=True, eq=False)
class Relaxation:
    """Lines around one operator, [B, *shape] each; `kink` is there if it has one at zero."""

    lower: Line
    upper: Line
    size: Tensor
    """A bound of |slope x| + |offset| for both lines and any blend."""
    kink: Kink | None = None

    @classmethod
    def of(cls, x: Interval, y: Interval, lines: Lines) -> Relaxation:
        lower, upper = reliable(lines, y)
        steepest = torch.maximum(lower.slope.abs(), upper.slope.abs())
        farthest = torch.maximum(lower.offset.abs(), upper.offset.abs())
        return cls(lower, upper, steepest * x.size + farthest)


@dataclass(frozen=True, eq=False)
class Kink:
    """Where the slope of one side is free, and between what; `above` where it is the upper one."""

    free: Tensor
    least: Tensor
    most: Tensor
    above: Tensor
    preferred: Tensor

    def slope(self, blend: Tensor) -> Tensor:
        """Slopes of lines through the origin, [B, K, *shape], for blends of that shape."""
        least, most = self.least.unsqueeze(1), self.most.unsqueeze(1)
        mixed = least + blend * (most - least)
        return torch.minimum(torch.maximum(mixed, least), most)


def bent(x: Interval, slope: Tensor) -> Relaxation:
    """Around x where positive, slope * x elsewhere."""
    slope = slope.expand_as(x.low)
    free = (x.low < 0) & (x.high > 0)
    stable = torch.where(x.low >= 0, torch.ones_like(slope), slope)
    steep = slope > 1
    flat = torch.zeros_like(slope)
    line = Line(stable, flat)
    through_ends = _through_ends(x, slope, steep, free, line)
    preferred = (x.high >= -x.low).to(slope.dtype)
    least, most = slope.clamp(max=1), slope.clamp(min=1)
    kink = Kink(free, least, most, steep, preferred)
    round_side = Line(kink.slope(preferred.unsqueeze(1))[:, 0], flat).where(free, line)
    lower, upper = through_ends.where(steep, round_side), round_side.where(steep, through_ends)
    steepest = torch.maximum(through_ends.slope.abs(), torch.maximum(least.abs(), most.abs()))
    size = steepest * x.size + through_ends.offset.abs()
    return Relaxation(lower, upper, size, kink)


def _through_ends(x: Interval, slope: Tensor, steep: Tensor, free: Tensor, line: Line) -> Line:
    """The line over both ends of an interval that crosses the kink; `line` elsewhere."""
    # Most intervals do not cross, and there are many: work on the others only.
    low, high, slope = x.low[free], x.high[free], slope[free]
    chord = (high - slope * low) / (high - low)
    at_low = minus(
        Interval(below(low * slope), above(low * slope)),
        times(Interval.exactly(low), Interval.exactly(chord)),
    )
    at_high = minus(Interval.exactly(high), times(Interval.exactly(high), Interval.exactly(chord)))
    over = torch.maximum(at_low.high, at_high.high)
    under = torch.minimum(at_low.low, at_high.low)
    offset = torch.where(steep[free], under, over)
    return Line(line.slope.masked_scatter(free, chord), line.offset.masked_scatter(free, offset))


def _relu(call: Call[Interval]) -> Relaxation:
    x = call.value(0)
    return bent(x, x.low.new_zeros(()))


def _leaky_relu(call: Call[Interval]) -> Relaxation:
    x = call.value(0)
    return bent(x, leaky_slope(call, x.low).low)


def _prelu(call: Call[Interval]) -> Relaxation:
    x, slope = aligned(call.value(0), call.value(1))
    return bent(x, slope.low)


def _abs(call: Call[Interval]) -> Relaxation:
    x = call.value(0)
    return bent(x, -x.low.new_ones(()))


def _filled(x: Interval, value: float) -> Interval:
    return Interval.exactly(torch.full_like(x.low, value))


def _tanh_slope(x: Interval) -> Interval:
    return minus(_filled(x, 1.0), squared(tanh(x)))


def _sigmoid_slope(x: Interval) -> Interval:
    return times(sigmoid(x), sigmoid(negated(x)))


def _erf(x: Interval) -> Interval:
    return enclosed(torch.erf, x, -1.0, 1.0)


def _erf_slope(x: Interval) -> Interval:
    factor = x.low.new_tensor(_TWO_OVER_ROOT_PI)
    return times(Interval(below(factor), above(factor)), exp(negated(squared(x))))


def _reciprocal(x: Interval) -> Interval:
    return divided(_filled(x, 1.0), x)


def _reciprocal_slope(x: Interval) -> Interval:
    return negated(squared(_reciprocal(x)))


def _log_slope(x: Interval) -> Interval:
    return _reciprocal(x)


def _sqrt_slope(x: Interval) -> Interval:
    return times(_reciprocal(sqrt(x)), _filled(x, 0.5))


Curve = Callable[[Interval], Interval]


def _shaped(
    around: Callable[[Interval, Curve, Curve], Lines], value: Curve, slope: Curve
) -> Callable[[Call[Interval]], Relaxation]:
    def run(call: Call[Interval]) -> Relaxation:
        x = call.value(0)
        return Relaxation.of(x, value(x), around(x, value, slope))

    return run


def _around_hyperbola(x: Interval, value: Curve, slope: Curve) -> Lines:
    """1 / x is convex above zero and concave below."""
    positive = x.low > 0
    lower, upper = around_convex(x, value, slope)
    under, over = around_concave(x, value, slope)
    return lower.where(positive, under), upper.where(positive, over)


def _square(call: Call[Interval]) -> Relaxation | None:
    if call.node.inputs[0] != call.node.inputs[1]:
        return None
    x = call.value(0)
    lines = around_convex(x, squared, lambda t: times(t, _filled(t, 2.0)))
    return Relaxation.of(x, squared(x), lines)


def _power(call: Call[Interval]) -> Relaxation | None:
    """One natural exponent: even powers are convex, odd ones an S upside down."""
    given = {float(e) for e in call.constant(1).ravel().tolist()}
    if len(given) != 1 or call.input_shape(0) != call.output_shape():
        return None
    exponent = int(given.pop())
    x = call.value(0)

    def raised(by: int) -> Curve:
        return lambda t: to_natural_power(t, torch.full_like(t.low, by, dtype=torch.int64))

    value = raised(exponent)
    if exponent < 1:
        return Relaxation.of(x, value(x), constant(value(x)))

    def slope(t: Interval) -> Interval:
        return times(raised(exponent - 1)(t), _filled(t, float(exponent)))

    if exponent % 2 == 0:
        return Relaxation.of(x, value(x), around_convex(x, value, slope))
    upside_down = around_s_shape(x, lambda t: negated(value(t)), lambda t: negated(slope(t)))
    return Relaxation.of(x, value(x), mirrored(upside_down))


RELAXATIONS: dict[str, Callable[[Call[Interval]], Relaxation | None]] = {
    "Abs": _abs,
    "Erf": _shaped(around_s_shape, _erf, _erf_slope),
    "Exp": _shaped(around_convex, exp, exp),
    "LeakyRelu": _leaky_relu,
    "Log": _shaped(around_concave, log, _log_slope),
    "Mul": _square,
    "PRelu": _prelu,
    "Pow": _power,
    "Reciprocal": _shaped(_around_hyperbola, _reciprocal, _reciprocal_slope),
    "Relu": _relu,
    "Sigmoid": _shaped(around_s_shape, sigmoid, _sigmoid_slope),
    "Softplus": _shaped(around_convex, softplus, sigmoid),
    "Sqrt": _shaped(around_concave, sqrt, _sqrt_slope),
    "Tanh": _shaped(around_s_shape, tanh, _tanh_slope),
}
"""Lines around the first input's image; None where a node is not of the form that has them."""

KINKED = frozenset({"Abs", "LeakyRelu", "PRelu", "Relu"})
