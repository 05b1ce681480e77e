"""The network at a rational point in ball arithmetic: every output as a proven small interval.

Operators such as Softmax leave the rationals, so `exact` refuses them. Here every number is an
Arb ball, a midpoint with an error bound that all operations widen as needed; the true value is
always inside. What balls cannot decide (a tie, an operator that is not listed) stays undecided.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from flint import arb, ctx, fmpq

from assay.errors import BadInput, Unsupported
from assay.question.exact import LARGEST_EXACT_TENSOR
from assay.question.network import Network
from assay.question.operators.ball import BALL_OPERATORS, Ball, Balls, each, objects
from assay.question.operators.call import (
    Call,
    Operator,
    cannot_run,
    check_shapes,
    missing_view,
    operator_place,
    walk,
)

Bounds = tuple[Fraction, Fraction]
"""A lower and an upper bound, both exact."""


def enclose(network: Network, point: Sequence[Fraction], bits: int) -> list[Bounds]:
    """(lower, upper) of every output at `point`, computed with `bits` bits of precision."""
    _refuse_unsupported(network)
    if len(point) != network.inputs:
        raise BadInput(
            f"{network.place}: a point of {len(point)} numbers where the network takes "
            f"{network.inputs}; give one number an input"
        )
    with ctx.workprec(bits):
        constants = {
            name: Balls(each(array.astype(object), lambda v: arb(float(v))))
            for name, array in network.initializers.items()
            if array.dtype == np.float32
        }
        start = [arb(fmpq(v.numerator, v.denominator)) for v in point]
        table = {name: _guarded(operator) for name, operator in BALL_OPERATORS.items()}
        result = walk(network, table, constants, Balls(objects(start, network.input_shape)), _check)
        return [_ends(network, ball) for ball in result.values.ravel().tolist()]


def _ends(network: Network, ball: Ball) -> Bounds:
    if not ball.is_finite():
        raise Unsupported(f"{network.place}: balls cannot bound its outputs at this point")
    return _fraction(ball.lower()), _fraction(ball.upper())


def _fraction(end: Ball) -> Fraction:
    mantissa, exponent = (int(n) for n in end.mid().man_exp())
    if abs(exponent) > 2**20:
        raise Unsupported("an output is too large or too small to be written out")
    return Fraction(mantissa) * Fraction(2) ** exponent


def _refuse_unsupported(network: Network) -> None:
    for node in network.nodes:
        place = operator_place(network, node)
        if node.op_type not in BALL_OPERATORS:
            raise missing_view(network, node, "ball arithmetic")
        sizes = [math.prod(network.shapes[name]) for name in (*node.inputs, *node.outputs) if name]
        if max(sizes) > LARGEST_EXACT_TENSOR:
            raise Unsupported(f"{place} is too large for ball arithmetic")


def _guarded(operator: Operator[Balls]) -> Operator[Balls]:
    def run(call: Call[Balls]) -> Balls | tuple[Balls, ...]:
        try:
            return operator(call)
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            raise cannot_run(call, error) from None

    return run


def _check(call: Call[Balls], results: Sequence[Balls]) -> None:
    check_shapes(call, (result.shape for result in results))
