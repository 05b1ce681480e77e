"""Which inputs and attributes an operator has in which opset, as the ONNX standard says.

A reader that follows the standard refuses a node with others; what is proved of such a network
would be about a file that cannot be run. Every operator that some rule follows is here.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Signature:
    """From opset `since` on: fewest and most inputs, and the attributes there are."""

    since: int
    fewest: int
    most: int
    attributes: frozenset[str] = frozenset()


def _signature(since: int, fewest: int, most: int, attributes: str = "") -> Signature:
    return Signature(since, fewest, most, frozenset(attributes.split()))


_GEMM = "alpha beta transA transB"
_CONV = "auto_pad dilations group kernel_shape pads strides"
_POOL = "auto_pad count_include_pad kernel_shape pads strides"
_ONE, _TWO = [_signature(1, 1, 1)], [_signature(7, 2, 2)]
SIGNATURES: dict[str, list[Signature]] = {
    "Add": _TWO,
    "AveragePool": [
        _signature(7, 1, 1, _POOL),
        _signature(10, 1, 1, f"{_POOL} ceil_mode"),
        _signature(19, 1, 1, f"{_POOL} ceil_mode dilations"),
    ],
    "Conv": [_signature(1, 2, 3, _CONV)],
    "Div": _TWO,
    "Flatten": [_signature(9, 1, 1, "axis")],
    "Gemm": [_signature(9, 3, 3, _GEMM), _signature(11, 2, 3, _GEMM)],
    "Identity": _ONE,
    "MatMul": [_signature(1, 2, 2)],
    "Mul": _TWO,
    "Pow": _TWO,
    "ReduceSum": [
        _signature(1, 1, 1, "axes keepdims"),
        _signature(13, 1, 2, "keepdims noop_with_empty_axes"),
    ],
    "Relu": _ONE,
    "Reshape": [_signature(5, 2, 2), _signature(14, 2, 2, "allowzero")],
    "Sigmoid": _ONE,
    "Softmax": [_signature(1, 1, 1, "axis")],
    "Sub": _TWO,
    "Tanh": _ONE,
    "Transpose": [_signature(1, 1, 1, "perm")],
}


def signature(operator: str, opset: int) -> Signature | None:
    """What the operator is in that opset; None if no rule follows it."""
    found = [s for s in SIGNATURES.get(operator, []) if s.since <= opset]
    return found[-1] if found else None
