"""The network as a function over the rationals: what it is, not what floating point makes of it.

Float32 weights are exact dyadic numbers, so a network of affine and piecewise affine or
polynomial operators maps rationals to rationals. Operators such as Softmax do not; they are
refused, never approximated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

import numpy as np

from assay.errors import BadInput, Unsupported
from assay.question.network import Network
from assay.question.operators.call import (
    Call,
    Operator,
    cannot_run,
    check_shapes,
    missing_view,
    operator_place,
    walk,
)
from assay.question.operators.exact_elementwise import ELEMENTWISE
from assay.question.operators.exact_linear import LINEAR
from assay.question.operators.exact_movement import MOVEMENT
from assay.question.operators.rational import Rational, manageable

EXACT_OPERATORS: Mapping[str, Operator[Rational]] = ELEMENTWISE | LINEAR | MOVEMENT
"""Adding an operator is one function and one line in its family's table."""

IRRATIONAL_OPERATORS = frozenset(
    {"Cos", "Elu", "Erf", "Exp", "Gelu", "Log", "LogSoftmax", "Sigmoid", "Sin", "Softmax"}
    | {"Softplus", "Sqrt", "Tanh"}
)
READABLE_OPERATORS = frozenset(EXACT_OPERATORS) | IRRATIONAL_OPERATORS
"""What Assay reads at all: exactly, or in balls and sound bounds."""
LARGEST_EXACT_TENSOR = 2**22
"""Elements; Python integers take ten times the room of a float."""


class ExactFunction:
    """A network ready for many exact evaluations: its weights are decoded once."""

    def __init__(self, network: Network) -> None:
        self.network = network
        _refuse_unsupported(network)
        self._constants = {
            name: Rational.from_floats(array)
            for name, array in network.initializers.items()
            if array.dtype == np.float32
        }

    def __call__(
        self, point: Sequence[Fraction], watch: Callable[[Call[Rational]], None] | None = None
    ) -> list[Fraction]:
        """The outputs at `point`, both flattened in C order; `watch` sees every call."""
        network = self.network
        if len(point) != network.inputs:
            raise BadInput(
                f"{network.place}: a point of {len(point)} numbers where the network takes "
                f"{network.inputs}; give one number an input"
            )
        start = Rational.from_fractions([Fraction(v) for v in point], network.input_shape)
        table = {name: _guarded(operator) for name, operator in EXACT_OPERATORS.items()}

        def check(call: Call[Rational], results: Sequence[Rational]) -> None:
            check_shapes(call, (result.shape for result in results))
            if watch is not None:
                watch(call)

        return walk(network, table, self._constants, start, check).fractions()


def evaluate(network: Network, point: Sequence[Fraction]) -> list[Fraction]:
    """The exact outputs of the real function that the graph defines, at a rational point."""
    return ExactFunction(network)(point)


def _refuse_unsupported(network: Network) -> None:
    for node in network.nodes:
        place = operator_place(network, node)
        if node.op_type in IRRATIONAL_OPERATORS:
            raise Unsupported(f"{place} needs ball arithmetic: its values are not rational")
        if node.op_type not in EXACT_OPERATORS:
            raise missing_view(network, node, "exact arithmetic")
        sizes = [math.prod(network.shapes[name]) for name in (*node.inputs, *node.outputs) if name]
        if max(sizes) > LARGEST_EXACT_TENSOR:
            raise Unsupported(f"{place} is too large for exact evaluation")


def _guarded(operator: Operator[Rational]) -> Operator[Rational]:
    """The operator behind a limit on memory, with numpy's complaints about shapes reworded."""

    def run(call: Call[Rational]) -> Rational | tuple[Rational, ...]:
        bits = sum(x.bits for x in call.inputs if x is not None)
        if not manageable(bits, math.prod(call.output_shape())):
            raise Unsupported(f"{call.place} needs integers too long for exact evaluation")
        try:
            return operator(call)
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            raise cannot_run(call, error) from None

    return run
