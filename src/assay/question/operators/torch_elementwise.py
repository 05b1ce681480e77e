"""Differentiable operators that work number by number, with broadcasting.

Every tensor carries one more leading axis than the graph says: the points of a batch.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from assay.errors import BadInput
from assay.question.operators.call import Call, Operator
from assay.question.operators.selection import refuse_training


def lifted(*tensors: Tensor) -> list[Tensor]:
    """Tensors of equal rank: new axes go between the batch and the graph's own axes."""
    rank = max(t.ndim for t in tensors)
    return [t.reshape(t.shape[0], *(1,) * (rank - t.ndim), *t.shape[1:]) for t in tensors]


def _unary(function: Callable[[Tensor], Tensor]) -> Operator[Tensor]:
    return lambda call: function(call.value(0))


def _joined(function: Callable[[Tensor, Tensor], Tensor]) -> Operator[Tensor]:
    """An operator on any number of broadcast tensors, taken two by two."""
    return lambda call: reduce(function, lifted(*call.values()))


def mean(call: Call[Tensor]) -> Tensor:
    return reduce(torch.add, lifted(*call.values())) / len(call.node.inputs)


def leaky_relu(call: Call[Tensor]) -> Tensor:
    return functional.leaky_relu(call.value(0), float(np.float32(call.attribute("alpha", 0.01))))


def elu(call: Call[Tensor]) -> Tensor:
    return functional.elu(call.value(0), float(call.attribute("alpha", 1.0)))


def prelu(call: Call[Tensor]) -> Tensor:
    x, slope = lifted(call.value(0), call.value(1))
    return x.clamp(min=0) + slope * x.clamp(max=0)


def power(call: Call[Tensor]) -> Tensor:
    if not call.has(1) or call.inputs[1] is not None:
        base, exponent = lifted(call.value(0), call.value(1))
    else:
        given = torch.as_tensor(call.constant(1).astype(np.float64))
        base, exponent = lifted(call.value(0), given.to(call.value(0)).unsqueeze(0))
    # A single natural exponent as a number keeps the gradient at zero finite and is faster.
    if exponent.numel() == 1 and float(exponent).is_integer() and float(exponent) >= 0:
        return torch.pow(base, int(exponent)).reshape(-1, *call.output_shape())
    return torch.pow(base, exponent)


def clip(call: Call[Tensor]) -> Tensor:
    low, high = clip_bound(call, 1, "min"), clip_bound(call, 2, "max")
    if low is None and high is None:
        return call.value(0)
    return torch.clamp(call.value(0), min=low, max=high)


def gelu(call: Call[Tensor]) -> Tensor:
    return functional.gelu(call.value(0), approximate=call.attribute("approximate", "none"))


def softmax(call: Call[Tensor]) -> Tensor:
    return _over_softmax_axes(call, torch.softmax)


def log_softmax(call: Call[Tensor]) -> Tensor:
    return _over_softmax_axes(call, torch.log_softmax)


def batch_normalization(call: Call[Tensor]) -> Tensor:
    refuse_training(call)
    x = call.value(0)
    per_channel = (-1, *(1,) * (x.ndim - 3))
    scale, bias, centre, variance = (call.value(i).reshape(per_channel) for i in range(1, 5))
    epsilon = float(np.float32(call.attribute("epsilon", 1e-5)))
    return (x - centre) * (scale / torch.sqrt(variance + epsilon)) + bias


def clip_bound(call: Call[Tensor], index: int, label: str) -> Tensor | None:
    """A bound of Clip, given as input `index` or, in older opsets, as an attribute."""
    x = call.value(0)
    if label in call.node.attributes:
        return torch.as_tensor(call.attribute(label, 0.0), dtype=x.dtype, device=x.device)
    bound = call.optional(index)
    if bound is not None and bound[0].numel() != 1:
        raise BadInput(f"{call.place} takes single numbers as bounds; fix input {index}")
    return None if bound is None else bound.reshape(-1, *(1,) * (x.ndim - 1))


def _over_softmax_axes(call: Call[Tensor], function: Callable[..., Tensor]) -> Tensor:
    x = call.value(0)
    rank = x.ndim - 1
    if call.node.opset >= 13:
        return function(x, dim=1 + call.axis(call.attribute("axis", -1), rank))
    # Before opset 13 all axes from the given one on are one long axis.
    axis = call.axis(call.attribute("axis", 1), rank)
    return function(x.flatten(1 + axis), dim=1 + axis).reshape(x.shape)


ELEMENTWISE: dict[str, Operator[Tensor]] = {
    "Abs": _unary(torch.abs),
    "Add": _joined(torch.add),
    "BatchNormalization": batch_normalization,
    "Clip": clip,
    "Cos": _unary(torch.cos),
    "Div": _joined(torch.div),
    "Elu": elu,
    "Erf": _unary(torch.erf),
    "Exp": _unary(torch.exp),
    "Gelu": gelu,
    "LeakyRelu": leaky_relu,
    "Log": _unary(torch.log),
    "LogSoftmax": log_softmax,
    "Max": _joined(torch.maximum),
    "Mean": mean,
    "Min": _joined(torch.minimum),
    "Mul": _joined(torch.mul),
    "Neg": _unary(torch.neg),
    "PRelu": prelu,
    "Pow": power,
    "Reciprocal": _unary(torch.reciprocal),
    "Relu": _unary(torch.relu),
    "Sigmoid": _unary(torch.sigmoid),
    "Sin": _unary(torch.sin),
    "Softmax": softmax,
    "Softplus": _unary(functional.softplus),
    "Sqrt": _unary(torch.sqrt),
    "Sub": _joined(torch.sub),
    "Sum": _joined(torch.add),
    "Tanh": _unary(torch.tanh),
}
