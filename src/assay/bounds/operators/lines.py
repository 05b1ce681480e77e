"""Lines below and above a function on an interval, valid whatever slope was picked.

A slope is chosen by plain float64 heuristics; the offset is then computed outward so that the line
holds for every real x of the interval:

* above a convex f it is enough to be above at both ends;
* below a convex f: for any d, f(x) >= f(d) + f'(d) (x - d), so with slope a the offset
  f(d) - a d + min over both ends e of (f'(d) - a) (e - d) is safe;
* an S-shaped f (convex below zero, concave above) is bounded above by the larger offset of its
  convex part [l, min(u, 0)] and its concave part [max(l, 0), u].

Everything else follows by symmetry.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from assay.bounds.operators.interval_arithmetic import minus, negated, plus, times
from assay.bounds.rounding import Interval

Curve = Callable[[Interval], Interval]
_BISECTIONS = 24


@dataclass(frozen=True, eq=False)
class Line:
    slope: Tensor
    offset: Tensor

    def where(self, condition: Tensor, other: Line) -> Line:
        """This line where the condition holds, the other elsewhere."""
        return Line(
            torch.where(condition, self.slope, other.slope),
            torch.where(condition, self.offset, other.offset),
        )


Lines = tuple[Line, Line]
"""A line below and a line above."""


def around_convex(x: Interval, value: Curve, derivative: Curve) -> Lines:
    middle = x.low * 0.5 + x.high * 0.5
    slope = derivative(Interval.exactly(middle)).low
    lower = Line(slope, _tangent_offset(x, middle, slope, value, derivative))
    chord = _chord(x, value, slope)
    return lower, Line(chord, _ends_offset(x, chord, value))


def around_concave(x: Interval, value: Curve, derivative: Curve) -> Lines:
    return mirrored(around_convex(x, _negative(value), _negative(derivative)))


def around_s_shape(x: Interval, value: Curve, derivative: Curve) -> Lines:
    """Lines around a function that is convex below zero and concave above it."""
    upper = _above_s_shape(x, value, derivative)
    # -f(-x) is S-shaped as well, and a line above it at -x is one below f at x.
    turned = _above_s_shape(
        negated(x),
        lambda t: negated(value(negated(t))),
        lambda t: derivative(negated(t)),
    )
    return Line(turned.slope, -turned.offset), upper


def mirrored(lines: Lines) -> Lines:
    """Lines around f from lines around -f."""
    lower, upper = lines
    return Line(-upper.slope, -upper.offset), Line(-lower.slope, -lower.offset)


def constant(y: Interval) -> Lines:
    """The ends of the range, as lines."""
    flat = torch.zeros_like(y.low)
    return Line(flat, y.low), Line(flat, y.high)


def reliable(lines: Lines, y: Interval) -> Lines:
    """The lines where they are numbers, the ends of the range elsewhere.

    An infinite range may mean that the interval leaves the function's domain: no line holds there.
    """
    bounded = torch.isfinite(y.low) & torch.isfinite(y.high)
    lower, upper = (
        line.where(bounded & torch.isfinite(line.slope) & torch.isfinite(line.offset), flat)
        for line, flat in zip(lines, constant(y), strict=True)
    )
    return lower, upper


def _negative(curve: Curve) -> Curve:
    return lambda x: negated(curve(x))


def _chord(x: Interval, value: Curve, fallback: Tensor) -> Tensor:
    """Roughly the slope from end to end."""
    rise = value(Interval.exactly(x.high)).low - value(Interval.exactly(x.low)).low
    slope = rise / (x.high - x.low)
    return torch.where(torch.isfinite(slope), slope, fallback)


def _ends_offset(x: Interval, slope: Tensor, value: Curve) -> Tensor:
    """The least offset that puts a line above f at both ends."""
    tilt = Interval.exactly(slope)
    ends = (Interval.exactly(x.low), Interval.exactly(x.high))
    first, last = (minus(value(end), times(end, tilt)).high for end in ends)
    return torch.maximum(first, last)


def _tangent_offset(
    x: Interval, touch: Tensor, slope: Tensor, value: Curve, derivative: Curve
) -> Tensor:
    """An offset that keeps a line below a convex f, good if the slope is about f'(touch)."""
    point, tilt = Interval.exactly(touch), Interval.exactly(slope)
    turn = minus(derivative(point), tilt)
    spans = (minus(Interval.exactly(end), point) for end in (x.low, x.high))
    least, other = (times(turn, span).low for span in spans)
    drop = Interval.exactly(torch.minimum(least, other))
    return plus(minus(value(point), times(point, tilt)), drop).low


def _above_s_shape(x: Interval, value: Curve, derivative: Curve) -> Line:
    zero = torch.zeros_like(x.low)
    concave = Interval(x.low.clamp(min=0), x.high.clamp(min=0))
    convex = Interval(x.low.clamp(max=0), x.high.clamp(max=0))
    touch = _touching(x, concave, value, derivative)
    chord = _chord(x, value, derivative(Interval.exactly(x.low)).low)
    # Beyond the last touching point, and on the convex side alone, the chord is best.
    slope = torch.where(touch < x.high, derivative(Interval.exactly(touch)).low, chord)
    slope = torch.where(slope.abs() > 2.0**-500, slope, zero)
    over_convex = _ends_offset(convex, slope, value)
    below_mirror = _tangent_offset(concave, touch, -slope, _negative(value), _negative(derivative))
    parts = [
        torch.where(x.low < 0, over_convex, -torch.inf),
        torch.where(x.high > 0, -below_mirror, -torch.inf),
        torch.where((x.low == 0) & (x.high == 0), over_convex, -torch.inf),
    ]
    return Line(slope, torch.maximum(torch.maximum(parts[0], parts[1]), parts[2]))


def _touching(x: Interval, concave: Interval, value: Curve, derivative: Curve) -> Tensor:
    """Roughly where a tangent of the concave part is good: it meets f at the lower end, if any."""
    start = value(Interval.exactly(x.low)).low
    near, far = concave.low, concave.high
    for _ in range(_BISECTIONS):
        middle = near * 0.5 + far * 0.5
        point = Interval.exactly(middle)
        gap = value(point).low - derivative(point).low * (middle - x.low) - start
        near, far = torch.where(gap < 0, middle, near), torch.where(gap < 0, far, middle)
    crossing = (x.low < 0) & (x.high > 0)
    # The bisection ends next to the far end when no tangent reaches down to the lower end.
    found = torch.where(far >= concave.high, concave.high, far)
    return torch.where(crossing, found, concave.low * 0.5 + concave.high * 0.5)
