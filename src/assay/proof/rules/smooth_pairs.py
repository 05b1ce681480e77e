"""Robust because units that share a response rise and fall together, through Sigmoid or Tanh.

Both are h(t) = a + b tanh(r t). Units of the last hidden layer with the same weights, or with
opposite ones (tanh is odd), compute tanh(r (s + b_j)) of one response s, and an excess sees
sum_j c_j tanh(r (s + b_j)) of them. Put the biases in falling order; with C_j = c_1 + ... + c_j
and D_j(s) = tanh(r (s + b_j)) - tanh(r (s + b_(j+1))) that sum is, without remainder,

  C_1 D_1(s) + ... + C_(m-1) D_(m-1)(s) + C_m tanh(r (s + b_m)).

The slope of tanh is even and falls away from zero, so D_j rises while |s + b_j| < |s + b_(j+1)|,
that is up to the middle s = -(b_j + b_(j+1)) / 2, and falls from there on. Over an interval of s it
is least at an end and largest at the point nearest to the middle; a single tanh rises. Intervals
of the responses come from the layers before, followed in balls over the whole box. For two units
with opposite weights in the read-out C_2 = 0: only the difference counts, whatever s is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from flint import arb_mat, ctx

from assay.proof.arithmetic import Unsupported
from assay.proof.ball_network import BallNetwork
from assay.proof.balls import BITS, Ball, Balls, ball, floor, half, over_box
from assay.proof.chain import Affine, follow
from assay.proof.claim import Claim, Proof, objectives
from assay.proof.reader import Graph

_CURVES = {
    "Sigmoid": (Fraction(1, 2), Fraction(1, 2), Fraction(1, 2)),
    "Tanh": (Fraction(0), Fraction(1), Fraction(1)),
}
"""(a, b, r) of a + b tanh(r t)."""
_AFFINE = ("Gemm", "MatMul", "Add", "Flatten", "Reshape")


def prove(claim: Claim) -> Proof:
    return Proof(min(least_excesses(claim)))


def least_excesses(claim: Claim) -> list[Fraction]:
    """For each disjunct a lower bound of its excess over the box."""
    with ctx.workprec(BITS):
        tail = _read_tail(claim)
        level, height, rate = _CURVES[tail.curve]
        responses = list(_responses(tail.layer, tail.entering, ball(rate)))
        bounds = []
        for objective in objectives(claim.question, tail.last):
            weights, scale = objective.coefficients.numerators, objective.coefficients.denominator
            total = ball(objective.constant + level * Fraction(sum(weights), scale))
            for response in responses:
                total += ball(height * Fraction(1, scale)) * response.least(weights)
            bounds.append(floor(total))
        return bounds


@dataclass(frozen=True)
class Tail:
    """The end of a network: what enters its last hidden layer, that layer, and the read-out."""

    entering: Balls
    layer: Affine
    curve: str
    last: Affine


def _read_tail(claim: Claim) -> Tail:
    graph, question = claim.graph, claim.question
    start, end = _last_hidden_layer(graph)
    values = BallNetwork(graph).values(over_box(question.lower, question.upper, graph.input_shape))
    name = graph.nodes[start - 1].output if start else graph.input
    if name not in values:
        raise Unsupported("the last hidden layer does not follow from the layers before it")
    layer, made, shape = follow(graph, graph.nodes[start:end], name, values[name].shape)
    curve = graph.nodes[end]
    last, output, _ = follow(graph, graph.nodes[end + 1 :], curve.output, shape)
    if layer.below or last.below or curve.inputs != (made,) or output != graph.output:
        raise Unsupported("the network does not end in an affine map, a curve and an affine map")
    return Tail(values[name], layer.last, curve.operator, last.last)


def _last_hidden_layer(graph: Graph) -> tuple[int, int]:
    """The places of its first node and of the node that bends it."""
    operators = [node.operator for node in graph.nodes]
    curves = [i for i, operator in enumerate(operators) if operator in _CURVES]
    if not curves:
        raise Unsupported("a smooth_pairs certificate is for networks with a Sigmoid or a Tanh")
    bends = [i for i, operator in enumerate(operators[: curves[-1]]) if operator not in _AFFINE]
    return max(bends, default=-1) + 1, curves[-1]


@dataclass(frozen=True)
class Response:
    """Units of one response s, biases falling, each with the sign of its weights.

    `ends` encloses, from below and from above over all s, the difference of a unit and the next,
    and of the last unit its own value.
    """

    units: list[tuple[int, int]]
    ends: list[tuple[Ball, Ball]]

    def least(self, weights: tuple[int, ...]) -> Ball:
        total, running = ball(Fraction(0)), 0
        for (unit, sign), (low, high) in zip(self.units, self.ends, strict=True):
            running += sign * weights[unit]
            total += running * (low if running > 0 else high)
        return total


def _responses(layer: Affine, entering: Balls, rate: Ball) -> Iterator[Response]:
    groups: dict[tuple[int, ...], list[tuple[int, int]]] = {}
    for unit, row in enumerate(layer.rows):
        sign = -1 if next(filter(None, row), 0) < 0 else 1
        groups.setdefault(tuple(sign * w for w in row), []).append((unit, sign))
    scale = ball(Fraction(1, layer.denominator))
    rows = arb_mat(len(groups), layer.fan_in, [weight for row in groups for weight in row])
    sums = rows * arb_mat(layer.fan_in, 1, entering.entries)
    for units, response in zip(groups.values(), sums.entries(), strict=True):
        units.sort(key=lambda member: -member[1] * layer.bias[member[0]])
        biases = [sign * layer.bias[unit] * scale for unit, sign in units]
        yield Response(units, _ends(response * scale, biases, rate))


def _ends(response: Ball, biases: list[Ball], rate: Ball) -> list[tuple[Ball, Ball]]:
    low, high = response.lower(), response.upper()

    def bent(s: Ball, bias: Ball) -> Ball:
        return (rate * (s + bias)).tanh()

    ends = []
    for bias, following in pairwise(biases):
        middle = half(-bias - following).max(low).min(high)
        least, other, largest = (bent(s, bias) - bent(s, following) for s in (low, high, middle))
        ends.append((least.min(other), largest))
    return [*ends, (bent(low, biases[-1]), bent(high, biases[-1]))]
