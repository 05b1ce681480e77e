"""How large a question is: what is shown to a person, and the order in which steps must go down."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from assay.shrink.draft import Draft
from assay.truth.dyadic import leading_exponent

_WEIGHTED = ("Gemm", "MatMul", "Conv")
_NARROW = -4
"""Inputs narrower than 2^-4 count as equally narrow."""


@dataclass(frozen=True)
class Size:
    """Counts of a question; `units` are hidden ones, `weights` those that are not zero."""

    nodes: int
    units: int
    inputs: int
    free_inputs: int
    outputs: int
    disjuncts: int
    weights: int
    bytes: int


def size(draft: Draft) -> Size:
    network, violation = draft.network, draft.case.violation
    made = [n.outputs[0] for n in network.nodes if n.op_type in _WEIGHTED]
    units = sum(math.prod(network.shapes[name]) for name in made)
    last = network.outputs if made else 0
    return Size(
        nodes=len(network.nodes),
        units=max(units - last, 0),
        inputs=network.inputs,
        free_inputs=len(draft.free()),
        outputs=network.outputs,
        disjuncts=len(violation.disjuncts),
        weights=sum(int(np.count_nonzero(a)) for a in _floats(draft)),
        bytes=len(draft.onnx) + len(draft.vnnlib),
    )


def measure(draft: Draft) -> tuple[int, ...]:
    """Every accepted step makes this smaller, the first that differs deciding; so all ends."""
    counts, case = size(draft), draft.case
    return (
        counts.nodes,
        counts.units,
        counts.inputs,
        counts.outputs,
        sum(len(disjunct) for disjunct in case.violation.disjuncts),
        counts.free_inputs,
        sum(_width(case.box.upper[i] - case.box.lower[i]) for i in draft.free()),
        sum(int(costs(array).sum()) for array in _floats(draft)),
        sum(cost(value) for value in (*case.box.lower, *case.box.upper)),
    )


def can_be_narrowed(width: Fraction) -> bool:
    return _width(width) > 0


def _width(width: Fraction) -> int:
    return max(leading_exponent(width) - _NARROW, 0)


def _floats(draft: Draft) -> list[np.ndarray]:
    arrays = draft.network.initializers.values()
    return [array for array in arrays if array.dtype == np.float32]


def costs(array: np.ndarray) -> np.ndarray:
    """How long the numbers of an array are to write: 0 costs nothing, one 1, then bit by bit."""
    mantissas = np.abs(np.frexp(array.astype(np.float64))[0])
    bits = np.zeros(array.shape, np.int64)
    for count in range(24, 0, -1):
        short = np.ldexp(mantissas, count)
        bits[short == np.rint(short)] = count
    return np.where(array == 0, 0, np.where(np.abs(array) == 1, 1, bits + 1))


def cost(value: Fraction) -> int:
    """How long a bound of the box is to write."""
    return value.numerator.bit_length() + value.denominator.bit_length() - 1 if value else 0
