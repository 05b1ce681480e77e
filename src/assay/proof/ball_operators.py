"""The operators of smooth networks on balls, each with its derivative run backwards.

`forward` maps operands to the result. `backward` maps the adjoint of the result (how an objective
changes with each of its entries) to the adjoints of the operands: the chain rule. Where ReLU may
have its kink inside the box, its derivative is the whole of [0, 1].
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

from flint import arb

from assay.proof import ball_windows
from assay.proof.arithmetic import Unsupported
from assay.proof.balls import Ball, Balls, half, hull, positions, quotient
from assay.proof.chain import reshaped
from assay.proof.reader import Graph, Node
from assay.proof.softmax_head import softmax_gains, softmax_row

MOST_ENTRIES = 1 << 17
MOST_PRODUCTS = 1 << 24


@dataclass(frozen=True)
class Step:
    """One node at work: its operands and, on the way back, its result."""

    node: Node
    graph: Graph
    operands: Sequence[Balls]
    result: Balls | None = None

    def refuse(self) -> Unsupported:
        return Unsupported(f"{self.node.place()} is not an operation the checker follows in balls")


Forward = Callable[[Step], Balls]
Backward = Callable[[Step, Balls], list[Balls]]


@dataclass(frozen=True)
class Operator:
    """`indexed`: the second input is a list of integers."""

    inputs: tuple[int, ...]
    forward: Forward
    backward: Backward
    attributes: tuple[str, ...] = ()
    indexed: bool = False


def _product(step: Step) -> Balls:
    left, right = step.operands
    plain = len(left.shape) >= 2 and len(right.shape) >= 2
    if not plain or prod(left.shape[:-2]) != 1 or prod(right.shape[:-2]) != 1:
        raise step.refuse()
    (rows, inner), columns = left.shape[-2:], right.shape[-1]
    if right.shape[-2] != inner or rows * inner * columns > MOST_PRODUCTS:
        raise step.refuse()
    lead = max(left.shape[:-2], right.shape[:-2], key=len)
    return Balls((*lead, rows, columns), (left.matrix() * right.matrix()).entries())


def _product_back(step: Step, adjoint: Balls) -> list[Balls]:
    left, right = step.operands
    change = adjoint.matrix()
    return [
        Balls(left.shape, (change * right.matrix().transpose()).entries()),
        Balls(right.shape, (left.matrix().transpose() * change).entries()),
    ]


def _gemm(step: Step) -> Balls:
    """x W + b or x W^T + b for one row x; the reader admits no other alpha and beta than 1."""
    row, weight = step.operands[:2]
    if step.node.attributes.get("transA", 0) or len(row.shape) != 2 or len(weight.shape) != 2:
        raise step.refuse()
    flipped = step.node.attributes.get("transB", 0)
    if flipped not in (0, 1) or row.shape[1] != weight.shape[flipped]:
        raise step.refuse()
    if row.shape[0] * prod(weight.shape) > MOST_PRODUCTS:
        raise step.refuse()
    matrix = weight.matrix().transpose() if flipped else weight.matrix()
    shape = (row.shape[0], weight.shape[1 - flipped])
    product = Balls(shape, (row.matrix() * matrix).entries())
    if len(step.operands) == 2:
        return product
    places = positions(step.operands[2].shape, shape)
    if places is None:
        raise step.refuse()
    bias = step.operands[2].entries
    entries = [p + bias[i] for p, i in zip(product.entries, places, strict=True)]
    return Balls(shape, entries)


def _gemm_back(step: Step, adjoint: Balls) -> list[Balls]:
    row, weight = step.operands[:2]
    flipped = step.node.attributes.get("transB", 0)
    matrix = weight.matrix() if flipped else weight.matrix().transpose()
    # the weight and the bias are constants, which `ball_network` makes sure of
    return [Balls(row.shape, (adjoint.matrix() * matrix).entries())]


def _spread(step: Step) -> tuple[tuple[int, ...], list[int], list[int]]:
    """The common shape of two operands, and which entry of each stands where."""
    first, second = (operand.shape for operand in step.operands)
    rank = max(len(first), len(second))
    padded = [(1,) * (rank - len(shape)) + shape for shape in (first, second)]
    target = tuple(map(max, *padded))
    left, right = positions(first, target), positions(second, target)
    if left is None or right is None or prod(target) > MOST_ENTRIES:
        raise step.refuse()
    return target, left, right


def _pairwise(function: Callable[[Ball, Ball], Ball]) -> Forward:
    def forward(step: Step) -> Balls:
        target, left, right = _spread(step)
        a, b = (operand.entries for operand in step.operands)
        return Balls(target, [function(a[i], b[j]) for i, j in zip(left, right, strict=True)])

    return forward


def _pairwise_back(slopes: Callable[[Ball, Ball], tuple[Ball, Ball]]) -> Backward:
    """`slopes` are the derivatives of the result by the first and by the second operand."""

    def backward(step: Step, adjoint: Balls) -> list[Balls]:
        _, left, right = _spread(step)
        a, b = (operand.entries for operand in step.operands)
        changes: list[list[Ball]] = [[arb(0)] * len(a), [arb(0)] * len(b)]
        for change, i, j in zip(adjoint.entries, left, right, strict=True):
            first, second = slopes(a[i], b[j])
            changes[0][i] += change * first
            changes[1][j] += change * second
        return [Balls(o.shape, c) for o, c in zip(step.operands, changes, strict=True)]

    return backward


def _quotient_slopes(a: Ball, b: Ball) -> tuple[Ball, Ball]:
    return quotient(arb(1), b), -quotient(quotient(a, b), b)


def _relu(step: Step) -> Balls:
    (x,) = step.operands
    return Balls(x.shape, [v.max(arb(0)) for v in x.entries])


def _relu_back(step: Step, adjoint: Balls) -> list[Balls]:
    (x,) = step.operands
    unknown = hull(arb(0), arb(1))
    slopes = [arb(1) if v > 0 else arb(0) if v < 0 else unknown for v in x.entries]
    changes = [change * slope for change, slope in zip(adjoint.entries, slopes, strict=True)]
    return [Balls(x.shape, changes)]


def _sigmoid_of(x: Ball) -> Ball:
    return half(1 + half(x).tanh())


def _rising(function: Callable[[Ball], Ball]) -> Forward:
    """Entry by entry; a rising function takes its least and largest value at the ends."""

    def forward(step: Step) -> Balls:
        (x,) = step.operands
        ends = ((function(v.lower()), function(v.upper())) for v in x.entries)
        return Balls(x.shape, [hull(low, high) for low, high in ends])

    return forward


def _sigmoid_slope(result: Ball) -> Ball:
    return half(half(_tanh_slope(2 * result - 1)))


def _tanh_slope(result: Ball) -> Ball:
    # a square is not negative, which the product of a ball with itself does not know
    return 1 - (result * result).max(arb(0))


def _sloped(forward: Forward, slope: Callable[[Ball], Ball]) -> Backward:
    """`slope` is the derivative as a function of the result."""

    def backward(step: Step, adjoint: Balls) -> list[Balls]:
        result = step.result or forward(step)
        pairs = zip(adjoint.entries, result.entries, strict=True)
        return [Balls(result.shape, [change * slope(value) for change, value in pairs])]

    return backward


_SIGMOID, _TANH = _rising(_sigmoid_of), _rising(lambda x: x.tanh())


def _rows(balls: Balls) -> list[list[Ball]]:
    """The rows along the last axis."""
    if not balls.shape:
        raise Unsupported("a single number has no rows")
    length = balls.shape[-1]
    return [balls.entries[i : i + length] for i in range(0, len(balls.entries), length)]


def _softmax(step: Step) -> Balls:
    (scores,) = step.operands
    # an axis that is not stated means another one before opset 13
    if step.node.attributes.get("axis") not in (-1, len(scores.shape) - 1):
        raise step.refuse()
    return Balls(scores.shape, [share for row in _rows(scores) for share in softmax_row(row)])


def _softmax_back(step: Step, adjoint: Balls) -> list[Balls]:
    result = step.result or _softmax(step)
    rows = zip(_rows(result), _rows(adjoint), strict=True)
    changes = [change for shares, gains in rows for change in softmax_gains(shares, gains)]
    return [Balls(adjoint.shape, changes)]


def _reduce_sum(step: Step) -> Balls:
    """The sum along the last axis, which is kept with length 1."""
    (x,) = step.operands
    axes = step.graph.integers.get(step.node.inputs[1])
    last = len(x.shape) - 1
    if axes not in ((-1,), (last,)) or step.node.attributes.get("keepdims", 1) != 1:
        raise step.refuse()
    sums = [sum(row, start=arb(0)) for row in _rows(x)]
    return Balls((*x.shape[:-1], 1), sums)


def _reduce_sum_back(step: Step, adjoint: Balls) -> list[Balls]:
    (x,) = step.operands
    return [Balls(x.shape, [change for change in adjoint.entries for _ in range(x.shape[-1])])]


def _transpose(step: Step) -> Balls:
    """The last two axes exchanged; all others are 1 and stay where they are."""
    (x,) = step.operands
    rank = len(x.shape)
    wanted = (*range(rank - 2), rank - 1, rank - 2)
    if rank < 2 or step.node.permutation != wanted or prod(x.shape[:-2]) != 1:
        raise step.refuse()
    shape = (*x.shape[:-2], x.shape[-1], x.shape[-2])
    return Balls(shape, x.matrix().transpose().entries())


def _transpose_back(step: Step, adjoint: Balls) -> list[Balls]:
    return [Balls(step.operands[0].shape, adjoint.matrix().transpose().entries())]


def _reshape(step: Step) -> Balls:
    (x,) = step.operands
    return Balls(reshaped(step.node, x.shape, step.graph), x.entries)


def _reshape_back(step: Step, adjoint: Balls) -> list[Balls]:
    return [Balls(step.operands[0].shape, adjoint.entries)]


OPERATORS: dict[str, Operator] = {
    "MatMul": Operator((2,), _product, _product_back),
    "Gemm": Operator((2, 3), _gemm, _gemm_back, ("alpha", "beta", "transA", "transB")),
    "Conv": Operator((2, 3), ball_windows.convolution, ball_windows.convolution_back, ("group",)),
    "AveragePool": Operator(
        (1,), ball_windows.pool, ball_windows.pool_back, ("count_include_pad", "ceil_mode")
    ),
    "Add": Operator((2,), _pairwise(lambda a, b: a + b), _pairwise_back(lambda _a, _b: (1, 1))),
    "Sub": Operator((2,), _pairwise(lambda a, b: a - b), _pairwise_back(lambda _a, _b: (1, -1))),
    "Mul": Operator((2,), _pairwise(lambda a, b: a * b), _pairwise_back(lambda a, b: (b, a))),
    "Div": Operator((2,), _pairwise(quotient), _pairwise_back(_quotient_slopes)),
    "Relu": Operator((1,), _relu, _relu_back),
    "Sigmoid": Operator((1,), _SIGMOID, _sloped(_SIGMOID, _sigmoid_slope)),
    "Tanh": Operator((1,), _TANH, _sloped(_TANH, _tanh_slope)),
    "Softmax": Operator((1,), _softmax, _softmax_back, ("axis",)),
    "ReduceSum": Operator((2,), _reduce_sum, _reduce_sum_back, ("keepdims",), indexed=True),
    "Transpose": Operator((1,), _transpose, _transpose_back),
    "Flatten": Operator((1,), _reshape, _reshape_back, ("axis",)),
    "Reshape": Operator((2,), _reshape, _reshape_back, indexed=True),
}
