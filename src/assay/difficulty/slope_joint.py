"""How much the slopes of a function of several numbers vary over a box.

Of every output number the largest variation among its partial derivatives counts, each argument of
the node being taken as free of the others. A softmax is judged by its slope in its own score. The
largest of several numbers has slope 1 in the one that wins, so it varies by 1 unless one of them
wins on the whole box.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from assay.bounds.operators.interval_arithmetic import aligned, negated
from assay.bounds.operators.interval_smooth import softmax_of
from assay.bounds.rounding import Interval
from assay.difficulty.slope_curves import SlopeRule, over, spread, width
from assay.question.operators.call import Call
from assay.question.operators.selection import reduced_axes
from assay.question.operators.torch_elementwise import lifted
from assay.question.operators.torch_linear import padded
from assay.question.operators.window import read_pool


def _mul(call: Call[Interval]) -> Tensor:
    """The slope in one factor is the other one."""
    a, b = aligned(call.value(0), call.value(1))
    if call.node.inputs[0] == call.node.inputs[1]:
        return 2 * width(a)
    return torch.maximum(width(a), width(b))


def _div(call: Call[Interval]) -> Tensor:
    """1 / y is the slope in x and -x / y^2 that in y; without a sign of y they have no bound."""
    x, y = aligned(call.value(0), call.value(1))
    in_y = spread([a / b / b for a in (x.low, x.high) for b in (y.low, y.high)])
    in_x = torch.zeros_like(x.low) if x.exact else over(torch.reciprocal, y)
    signed = (y.low > 0) | (y.high < 0)
    return torch.where(signed, torch.maximum(in_x, in_y), math.inf)


def _gemm(call: Call[Interval]) -> Tensor:
    left, right = width(call.value(0)), width(call.value(1))
    left = left.transpose(1, 2) if call.attribute("transA", 0) else left
    right = right.transpose(1, 2) if call.attribute("transB", 0) else right
    return _rows_and_columns(left, right) * abs(float(call.attribute("alpha", 1.0)))


def _matmul(call: Call[Interval]) -> Tensor:
    left, right = width(call.value(0)), width(call.value(1))
    left = left.unsqueeze(1) if left.ndim == 2 else left
    right = right.unsqueeze(2) if right.ndim == 2 else right
    return _rows_and_columns(*lifted(left, right)).reshape(-1, *call.output_shape())


def _rows_and_columns(left: Tensor, right: Tensor) -> Tensor:
    """The slopes of a product are the entries of a row of the left and a column of the right."""
    return torch.maximum(left.amax(dim=-1, keepdim=True), right.amax(dim=-2, keepdim=True))


def _softmax(call: Call[Interval]) -> Tensor:
    return over(lambda p: p * (1 - p), softmax_of(call), (0.5,))


def _log_softmax(call: Call[Interval]) -> Tensor:
    """The own slope is 1 minus the share."""
    return width(softmax_of(call))


def _contested(low: Tensor, high: Tensor) -> Tensor:
    """1 where no number along the last axis is certainly the largest, 0 elsewhere.

    A number wins if its lower end reaches all other upper ends. So it has the highest upper end
    itself, or is a point level with it.
    """
    nobody = torch.full_like(high[..., :1], -math.inf)
    best, place = torch.cat([high, nobody], dim=-1).topk(2, dim=-1)
    favourite = torch.cat([low, nobody], dim=-1).gather(-1, place[..., :1]).squeeze(-1)
    wins = (favourite >= best[..., 1]) | (low.amax(dim=-1) >= best[..., 0])
    return (~wins).to(torch.float64)


def _largest(call: Call[Interval]) -> Tensor:
    return _among(call, lambda x: x)


def _smallest(call: Call[Interval]) -> Tensor:
    return _among(call, negated)


def _among(call: Call[Interval], turned: Callable[[Interval], Interval]) -> Tensor:
    """A tensor that is named twice competes once."""
    operands = dict(zip(call.node.inputs, call.values(), strict=True))
    given = [turned(x) for x in aligned(*operands.values())]
    shape = (max(len(x.low) for x in given), *call.output_shape())
    low = torch.stack([x.low.expand(shape) for x in given], dim=-1)
    return _contested(low, torch.stack([x.high.expand(shape) for x in given], dim=-1))


def _max_pool(call: Call[Interval]) -> Tensor:
    x, window = call.value(0), read_pool(call)

    def seen(end: Tensor) -> Tensor:
        """What each position of the window sees, along a last axis."""
        views = padded(end.flatten(0, 1), window, -math.inf)
        steps = zip(window.spans, window.strides, window.dilations, strict=True)
        for axis, (span, stride, dilation) in enumerate(steps, start=2):
            views = views.unfold(axis, span, stride)[..., ::dilation]
        return views.flatten(2 + len(window.kernel))

    return _contested(seen(x.low), seen(x.high)).reshape(-1, *call.output_shape())


def _global_max_pool(call: Call[Interval]) -> Tensor:
    x = call.value(0)
    return _contested(x.low.flatten(3), x.high.flatten(3)).reshape(-1, *call.output_shape())


def _reduction(turned: Callable[[Interval], Interval]) -> SlopeRule:
    def run(call: Call[Interval]) -> Tensor:
        x, axes = turned(call.value(0)), [axis + 1 for axis in reduced_axes(call)]
        last = list(range(-len(axes), 0))

        def reduced(end: Tensor) -> Tensor:
            return end.movedim(axes, last).flatten(-len(axes)) if axes else end.unsqueeze(-1)

        return _contested(reduced(x.low), reduced(x.high)).reshape(-1, *call.output_shape())

    return run


JOINT: dict[str, SlopeRule] = {
    "Div": _div,
    "Gemm": _gemm,
    "GlobalMaxPool": _global_max_pool,
    "LogSoftmax": _log_softmax,
    "MatMul": _matmul,
    "Max": _largest,
    "MaxPool": _max_pool,
    "Min": _smallest,
    "Mul": _mul,
    "ReduceMax": _reduction(lambda x: x),
    "ReduceMin": _reduction(negated),
    "Softmax": _softmax,
}
