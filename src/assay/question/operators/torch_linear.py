"""Differentiable matrix products, convolutions, pools and reductions.

Every tensor carries one more leading axis than the graph says: the points of a batch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.nn import functional

from assay.errors import BadInput, Unsupported
from assay.question.operators.call import Call, Operator
from assay.question.operators.selection import reduced_axes
from assay.question.operators.torch_elementwise import lifted
from assay.question.operators.window import Window, read_pool, read_window


def gemm(call: Call[Tensor]) -> Tensor:
    left, right = call.value(0), call.value(1)
    left = left.transpose(1, 2) if call.attribute("transA", 0) else left
    right = right.transpose(1, 2) if call.attribute("transB", 0) else right
    result = _scaled(_matmul(left, right), call.attribute("alpha", 1.0))
    bias = call.optional(2)
    if bias is None:
        return result
    result, bias = lifted(result, bias)
    return result + _scaled(bias, call.attribute("beta", 1.0))


def matmul(call: Call[Tensor]) -> Tensor:
    left, right = call.value(0), call.value(1)
    left = left.unsqueeze(1) if left.ndim == 2 else left
    right = right.unsqueeze(2) if right.ndim == 2 else right
    result = _matmul(*lifted(left, right))
    return result.reshape(-1, *call.output_shape())


def conv(call: Call[Tensor]) -> Tensor:
    x, weight, bias = call.value(0), call.value(1), call.optional(2)
    if weight.shape[0] != 1 or (bias is not None and bias.shape[0] != 1):
        raise Unsupported(f"{call.place} is not supported: its weight depends on the input")
    window = read_window(call, tuple(weight.shape[3:]))
    convolve = _by_rank(call, window, (functional.conv1d, functional.conv2d, functional.conv3d))
    return _unmerged(
        call,
        convolve(
            padded(_merged(x), window, 0.0),
            weight[0],
            None if bias is None else bias[0],
            stride=window.strides,
            dilation=window.dilations,
            groups=call.attribute("group", 1),
        ),
    )


def average_pool(call: Call[Tensor]) -> Tensor:
    x, window = call.value(0), read_pool(call)
    if any(d != 1 for d in window.dilations):
        raise Unsupported(f"{call.place} is not supported: dilations")
    functions = (functional.avg_pool1d, functional.avg_pool2d, functional.avg_pool3d)
    pool = _by_rank(call, window, functions)
    means = pool(padded(_merged(x), window, 0.0), window.kernel, window.strides)
    if window.padded and not call.attribute("count_include_pad", 0):
        counts = torch.as_tensor(window.coverage(call.input_shape(0)[2:])).to(means)
        means = means * (math.prod(window.kernel) / counts)
    return _unmerged(call, means)


def max_pool(call: Call[Tensor]) -> Tensor:
    x, window = call.value(0), read_pool(call)
    functions = (functional.max_pool1d, functional.max_pool2d, functional.max_pool3d)
    pool = _by_rank(call, window, functions)
    framed = padded(_merged(x), window, -math.inf)
    return _unmerged(call, pool(framed, window.kernel, window.strides, dilation=window.dilations))


def global_average_pool(call: Call[Tensor]) -> Tensor:
    x = call.value(0)
    return x.mean(dim=tuple(range(3, x.ndim)), keepdim=True)


def global_max_pool(call: Call[Tensor]) -> Tensor:
    x = call.value(0)
    return x.amax(dim=tuple(range(3, x.ndim)), keepdim=True)


def _reduction(function: Callable[..., Tensor]) -> Operator[Tensor]:
    def run(call: Call[Tensor]) -> Tensor:
        axes = [axis + 1 for axis in reduced_axes(call)]
        if not axes:
            return call.value(0)
        return function(call.value(0), dim=axes, keepdim=bool(call.attribute("keepdims", 1)))

    return run


def _matmul(left: Tensor, right: Tensor) -> Tensor:
    """A single right matrix serves the whole batch: one product instead of one a point."""
    if math.prod(right.shape[:-2]) == 1:
        return left @ right.reshape(right.shape[-2:])
    return left @ right


def _scaled(x: Tensor, factor: float) -> Tensor:
    return x if factor == 1.0 else x * factor


def _merged(x: Tensor) -> Tensor:
    """The batch and the graph's own leading axis as one."""
    return x.flatten(0, 1)


def _unmerged(call: Call[Tensor], x: Tensor) -> Tensor:
    return x.reshape(-1, *call.output_shape())


def padded(x: Tensor, window: Window, fill: float) -> Tensor:
    """A tensor with batch and channels first, with `fill` around its spatial axes."""
    if not window.padded:
        return x
    edges = zip(reversed(window.before), reversed(window.after), strict=True)
    return functional.pad(x, [p for edge in edges for p in edge], value=fill)


def _by_rank(
    call: Call[Tensor], window: Window, functions: Sequence[Callable[..., Tensor]]
) -> Callable[..., Tensor]:
    rank = len(window.kernel)
    if rank > len(functions):
        raise BadInput(f"{call.place} has {rank} spatial dimensions; at most 3 are supported")
    return functions[rank - 1]


LINEAR: dict[str, Operator[Tensor]] = {
    "AveragePool": average_pool,
    "Conv": conv,
    "Gemm": gemm,
    "GlobalAveragePool": global_average_pool,
    "GlobalMaxPool": global_max_pool,
    "MatMul": matmul,
    "MaxPool": max_pool,
    "ReduceMax": _reduction(torch.amax),
    "ReduceMean": _reduction(torch.mean),
    "ReduceMin": _reduction(torch.amin),
    "ReduceSum": _reduction(torch.sum),
}
