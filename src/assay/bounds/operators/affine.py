"""Operators that are affine in some inputs while the others are constants: y = A x + b.

One entry says all that bounds need, forwards and backwards: how torch computes y, a bound of the
sizes |A| s + |b| where s bounds |x|, how many terms a sum has, and in which inputs the operator
is affine at once. The transposed map comes from torch's differentiation of y, which for an affine
map is A^T itself; products and convolutions have a direct form, because they are the hot ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from assay.question.operators.call import Call, Operator
from assay.question.operators.selection import reduced_axes
from assay.question.operators.torch_elementwise import ELEMENTWISE
from assay.question.operators.torch_linear import LINEAR
from assay.question.operators.torch_movement import MOVEMENT
from assay.question.operators.window import read_window

Positions = frozenset[int]
_COEFFICIENTS = ("alpha", "beta")
_FEW = 16
"""More roundings than the factors and divisors of any operator here add to a term."""


def _everywhere(_: Positions) -> bool:
    return True


def _first_only(variable: Positions) -> bool:
    return variable == {0}


def _one_factor(variable: Positions) -> bool:
    return not {0, 1} <= variable


def _one_term(_: Call[Any]) -> int:
    return 1


def _inner(call: Call[Any]) -> int:
    """The length of the dot products of Gemm and MatMul."""
    shape = call.input_shape(0)
    return shape[0] if call.attribute("transA", 0) else shape[-1]


def _taps(call: Call[Any]) -> int:
    return math.prod(call.input_shape(1)[1:])


def _operands(call: Call[Any]) -> int:
    return len(call.node.inputs)


def _window(call: Call[Any]) -> int:
    return math.prod(call.attribute("kernel_shape", ()))


def _plane(call: Call[Any]) -> int:
    return math.prod(call.input_shape(0)[2:])


def _reduced(call: Call[Any]) -> int:
    shape = call.input_shape(0)
    return math.prod(shape[axis] for axis in reduced_axes(call))


def sized(operator: Operator[Tensor]) -> Operator[Tensor]:
    """The operator with all constants, coefficients and results made nonnegative."""

    def run(call: Call[Tensor]) -> Tensor | tuple[Tensor, ...]:
        attributes = {
            name: abs(value) if name in _COEFFICIENTS else value
            for name, value in call.node.attributes.items()
        }
        inputs = tuple(None if x is None else x.abs() for x in call.inputs)
        result = operator(Call(call.network, replace(call.node, attributes=attributes), inputs))
        return tuple(r.abs() for r in result) if isinstance(result, tuple) else result.abs()

    return run


def _normalised_sizes(call: Call[Tensor]) -> Tensor | tuple[Tensor, ...]:
    """|scale| / sqrt(variance + epsilon) (|x| + |centre|) + |bias|."""
    x, scale, bias, centre = (call.value(i).abs() for i in range(4))
    signed = (x, scale, bias, -centre, call.value(4))
    return ELEMENTWISE["BatchNormalization"](Call(call.network, call.node, signed))


@dataclass(frozen=True)
class Affine:
    """`fits` tells whether the operator is affine jointly in the inputs at these positions."""

    apply: Operator[Tensor]
    sizes: Operator[Tensor]
    fits: Callable[[Positions], bool] = _everywhere
    terms: Callable[[Call[Any]], int] = _one_term

    def roundings(self, call: Call[Any]) -> int:
        """A bound of the roundings that any product in a computed output goes through."""
        return self.terms(call) + _FEW


def _gemm_transposed(call: Call[Tensor], pulled: Tensor) -> Tensor | None:
    if call.attribute("transA", 0):
        return None
    right = call.value(1)[0]
    right = right if call.attribute("transB", 0) else right.T
    factor = call.attribute("alpha", 1.0)
    result = pulled @ right
    return result if factor == 1.0 else result * factor


def _matmul_transposed(call: Call[Tensor], pulled: Tensor) -> Tensor | None:
    if len(call.input_shape(0)) < 2 or len(call.input_shape(1)) != 2:
        return None
    return pulled @ call.value(1)[0].T


def _conv_transposed(call: Call[Tensor], pulled: Tensor) -> Tensor | None:
    weight = call.value(1)[0]
    window = read_window(call, tuple(weight.shape[2:]))
    rank = len(window.kernel)
    spatial = call.input_shape(0)[2:]
    sizes = zip(spatial, window.before, window.after, strict=True)
    padded = [n + before + after for n, before, after in sizes]
    made = _TRANSPOSES[rank - 1](
        pulled.flatten(0, 1),
        weight,
        stride=window.strides,
        dilation=window.dilations,
        groups=call.attribute("group", 1),
    )
    # Positions that no window reaches are missing at the far end of the transposed result.
    missing = [n - m for n, m in zip(padded, made.shape[2:], strict=True)]
    made = functional.pad(made, [p for m in reversed(missing) for p in (0, m)])
    for axis, (before, size) in enumerate(zip(window.before, spatial, strict=True), start=2):
        made = made.narrow(axis, before, size)
    return made.reshape(pulled.shape[0], *call.input_shape(0))


_TRANSPOSES = (
    functional.conv_transpose1d,
    functional.conv_transpose2d,
    functional.conv_transpose3d,
)
_DIRECT: Mapping[str, Callable[[Call[Tensor], Tensor], Tensor | None]] = {
    "Conv": _conv_transposed,
    "Gemm": _gemm_transposed,
    "MatMul": _matmul_transposed,
}


def transposed(
    rule: Affine, call: Call[Tensor], variable: Sequence[int], pulled: Sequence[Tensor | None]
) -> list[Tensor]:
    """A^T times `pulled` (one tensor an output, None for zero), for each variable input.

    Their leading axis counts functionals; `call` holds the constants, its other inputs are None.
    """
    if list(variable) == [0] and call.node.op_type in _DIRECT:
        first = pulled[0]
        direct = None if first is None else _DIRECT[call.node.op_type](call, first)
        if direct is not None:
            return [direct]
    given = [p for p in pulled if p is not None]
    with torch.enable_grad():
        zero = given[0].new_zeros(())
        starts = [
            zero.expand(len(given[0]), *call.input_shape(i)).detach().requires_grad_()
            for i in variable
        ]
        result = rule.apply(with_inputs(call, variable, starts))
        results = result if isinstance(result, tuple) else (result,)
        kept = [(y.expand_as(p), p) for y, p in zip(results, pulled, strict=False) if p is not None]
        found = torch.autograd.grad(
            [y for y, _ in kept],
            starts,
            [p for _, p in kept],
            create_graph=any(p.requires_grad for p in given),
            allow_unused=True,
        )
    return [
        torch.zeros_like(start) if g is None else g for start, g in zip(starts, found, strict=True)
    ]


def with_inputs(
    call: Call[Tensor], positions: Sequence[int], values: Sequence[Tensor]
) -> Call[Tensor]:
    """`call` with these tensors at these positions."""
    inputs = list(call.inputs)
    for position, value in zip(positions, values, strict=True):
        inputs[position] = value
    return Call(call.network, call.node, tuple(inputs))


def _moved(name: str) -> Affine:
    return Affine(MOVEMENT[name], sized(MOVEMENT[name]))


def _linear(
    name: str, terms: Callable[[Call[Any]], int], fits: Callable[[Positions], bool] = _everywhere
) -> Affine:
    return Affine(LINEAR[name], sized(LINEAR[name]), fits, terms)


def _joined(name: str) -> Affine:
    operator = ELEMENTWISE[name]
    return Affine(operator, sized(operator), terms=_operands)


AFFINE: dict[str, Affine] = {
    **{name: _moved(name) for name in MOVEMENT},
    **{name: _joined(name) for name in ("Add", "Mean", "Neg", "Sum")},
    "AveragePool": _linear("AveragePool", _window),
    "BatchNormalization": Affine(ELEMENTWISE["BatchNormalization"], _normalised_sizes, _first_only),
    "Conv": _linear("Conv", _taps, _first_only),
    "Div": Affine(ELEMENTWISE["Div"], sized(ELEMENTWISE["Div"]), _first_only),
    "Gemm": _linear("Gemm", _inner, _one_factor),
    "GlobalAveragePool": _linear("GlobalAveragePool", _plane),
    "MatMul": _linear("MatMul", _inner, _one_factor),
    "Mul": Affine(ELEMENTWISE["Mul"], sized(ELEMENTWISE["Mul"]), _one_factor),
    "ReduceMean": _linear("ReduceMean", _reduced),
    "ReduceSum": _linear("ReduceSum", _reduced),
    "Sub": Affine(ELEMENTWISE["Sub"], sized(ELEMENTWISE["Add"]), terms=_operands),
}


def is_affine(op_type: str, variable: Iterable[int]) -> bool:
    """Whether an operator is affine jointly in the inputs at these positions."""
    return op_type in AFFINE and AFFINE[op_type].fits(frozenset(variable))
