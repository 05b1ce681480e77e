"""Intervals through products, convolutions and sums, with the rounding bounded beforehand.

For y = A x + b and x within r of c, computed y(c) is within

    |A| r + gamma (|A| |c| + |b|)

of every real y, which is gamma times the sizes |A| s + |b| at s = r / gamma + |c|: one more
evaluation with nonnegative numbers. Its own rounding is covered by the factor 1 + 4 gamma.
Sums with nonnegative weights go through end by end instead, so that nonnegative stays so.
"""

from __future__ import annotations

import torch
from torch import Tensor

from assay.bounds.operators.affine import AFFINE
from assay.bounds.operators.interval_movement import highs, lows
from assay.bounds.rounding import TINY, Interval, gamma
from assay.errors import Unsupported
from assay.question.operators.call import Call, Operator
from assay.question.operators.torch_elementwise import lifted


def affine(call: Call[Interval]) -> Interval:
    """An operator affine in its first input; the other inputs are constants."""
    rule = AFFINE[call.node.op_type]
    if any(x is not None and not x.exact for x in call.inputs[1:]):
        raise Unsupported(
            f"{call.place} is not supported by bounds: its weight depends on the input"
        )
    g = gamma(rule.roundings(call))
    centre, radius = call.value(0).ball()
    constants = lows(call).inputs[1:]
    middle = rule.apply(Call(call.network, call.node, (centre, *constants)))
    reach = rule.sizes(Call(call.network, call.node, (radius / g + centre.abs(), *constants)))
    assert isinstance(middle, Tensor)
    assert isinstance(reach, Tensor)
    return Interval.around(middle, reach * (g * (1 + 4 * g)) + TINY)


def gemm(call: Call[Interval]) -> Interval:
    if all(x is None or x.exact for x in call.inputs[1:]):
        return affine(call)
    left, right = call.value(0), call.value(1)
    left = _turned(left) if call.attribute("transA", 0) else left
    right = _turned(right) if call.attribute("transB", 0) else right
    centre, radius = product(left, right, left.low.shape[-1])
    alpha, beta = (float(call.attribute(name, 1.0)) for name in ("alpha", "beta"))
    g = gamma(4)
    centre, radius = centre * alpha, (radius + g * centre.abs()) * abs(alpha)
    bias = call.optional(2)
    if bias is not None:
        shift, spread = bias.ball()
        centre, shift = lifted(centre, shift)
        radius, spread = lifted(radius, spread)
        size = centre.abs() + (shift * beta).abs()
        centre, radius = centre + shift * beta, radius + spread * abs(beta) + g * size
    return Interval.around(centre, radius * (1 + 4 * g) + TINY)


def matmul(call: Call[Interval]) -> Interval:
    left, right = call.value(0), call.value(1)
    if right.exact:
        return affine(call)
    inner = call.input_shape(0)[-1]
    left = _with_axis(left, 1) if left.low.ndim == 2 else left
    right = _with_axis(right, 2) if right.low.ndim == 2 else right
    centre, radius = product(left, right, inner)
    shape = (-1, *call.output_shape())
    return Interval.around(centre.reshape(shape), radius.reshape(shape))


def product(left: Interval, right: Interval, inner: int) -> tuple[Tensor, Tensor]:
    """Centre and radius of a matrix product of intervals.

    With A in Ac +- Ar and B in Bc +- Br, AB is within |Ac| Br + Ar (|Bc| + Br) of Ac Bc.
    """
    g = gamma(inner + 4)
    (ac, bc), (ar, br) = (lifted(*pair) for pair in zip(left.ball(), right.ball(), strict=True))
    size = bc.abs()
    radius = ac.abs() @ (br + g * size + TINY)
    if not left.exact:
        radius = radius + ar @ (size + br)
    return ac @ bc, radius * (1 + 4 * g) + TINY


def averaging(call: Call[Interval]) -> Interval:
    """A sum with equal nonnegative weights: a mean, a pool, a reduction."""
    rule = AFFINE[call.node.op_type]
    g = gamma(rule.roundings(call))
    low, high = lows(call), highs(call)
    sums = [rule.apply(low), rule.apply(high)]
    reaches = [rule.sizes(low), rule.sizes(high)]
    least, most, reach_low, reach_high = (t for t in (*sums, *reaches) if isinstance(t, Tensor))
    found = Interval.rounded(least - g * reach_low, most + g * reach_high)
    # A sum that equals that of its sizes is not negative, and rounding must not make it so; of
    # one that overflowed nothing is known.
    nonnegative = (least == reach_low) & torch.isfinite(reach_low)
    kept = torch.where(nonnegative, found.low.clamp(min=0), found.low)
    return Interval(kept, found.high)


def _turned(x: Interval) -> Interval:
    low = x.low.transpose(1, 2)
    return Interval.exactly(low) if x.exact else Interval(low, x.high.transpose(1, 2))


def _with_axis(x: Interval, axis: int) -> Interval:
    low = x.low.unsqueeze(axis)
    return Interval.exactly(low) if x.exact else Interval(low, x.high.unsqueeze(axis))


INTERVAL_LINEAR: dict[str, Operator[Interval]] = {
    "AveragePool": averaging,
    "BatchNormalization": affine,
    "Conv": affine,
    "Gemm": gemm,
    "GlobalAveragePool": averaging,
    "MatMul": matmul,
    "Mean": averaging,
    "ReduceMean": averaging,
    "ReduceSum": averaging,
}
