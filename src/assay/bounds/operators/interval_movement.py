"""Intervals through operators that round nothing and never decrease: both ends go through torch.

Every tensor carries one more leading axis than the graph says: the boxes of a batch.
"""

from __future__ import annotations

from torch import Tensor

from assay.bounds.rounding import Interval
from assay.question.operators.call import Call, Operator
from assay.question.operators.torch_elementwise import ELEMENTWISE
from assay.question.operators.torch_linear import LINEAR
from assay.question.operators.torch_movement import MOVEMENT as TORCH_MOVEMENT


def lows(call: Call[Interval]) -> Call[Tensor]:
    inputs = tuple(None if x is None else x.low for x in call.inputs)
    return Call(call.network, call.node, inputs)


def highs(call: Call[Interval]) -> Call[Tensor]:
    inputs = tuple(None if x is None else x.high for x in call.inputs)
    return Call(call.network, call.node, inputs)


def by_ends(operator: Operator[Tensor]) -> Operator[Interval]:
    """An exact operator that never decreases in any of its inputs."""

    def run(call: Call[Interval]) -> tuple[Interval, ...]:
        low = _tuple(operator(lows(call)))
        # What is computed from constants alone stays a constant.
        constant = all(x is None or x.exact for x in call.inputs)
        high = low if constant else _tuple(operator(highs(call)))
        return tuple(Interval(a, b) for a, b in zip(low, high, strict=True))

    return run


def _tuple(result: Tensor | tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    return result if isinstance(result, tuple) else (result,)


_MONOTONE = ("Clip", "Max", "Min", "Relu")
_LARGEST_AND_LEAST = ("GlobalMaxPool", "MaxPool", "ReduceMax", "ReduceMin")

MOVEMENT: dict[str, Operator[Interval]] = {
    **{name: by_ends(operator) for name, operator in TORCH_MOVEMENT.items()},
    **{name: by_ends(ELEMENTWISE[name]) for name in _MONOTONE},
    **{name: by_ends(LINEAR[name]) for name in _LARGEST_AND_LEAST},
}
