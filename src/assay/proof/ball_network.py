"""A graph evaluated in balls, at a point or over a whole box, and its gradients over the box.

The mean-value form. Let g_i enclose the partial derivative of an objective f by input i over the
whole box with centre c and radii r_i. Along the segment from c to any x of the box f is Lipschitz,
and its derivative is, almost everywhere, a sum of the derivatives that the chain rule multiplies
out (at a kink any slope of [0, 1] will do: where a unit rests at zero, it does not move). Hence

  f(x) >= f(c) - sum_i r_i max |g_i|.

The part of a segment that lies in the box shrunk by t_k but not in the one shrunk by t_(k-1) needs
the derivatives over the former only; so `SHELLS` nested boxes share the work, which nearly halves
what is lost to the curvature of f.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import prod

from flint import arb, ctx

from assay.proof.arithmetic import Rejected, Unsupported, Vector
from assay.proof.ball_operators import MOST_ENTRIES, OPERATORS, Step
from assay.proof.balls import BITS, Ball, Balls, ball, ceiling, from_vector, over_box, quotient
from assay.proof.declared_shapes import check_declared
from assay.proof.reader import Graph, Node
from assay.proof.softmax_head import Head, HeadPattern
from assay.proof.vnnlib import Inequality, Question
from assay.proof.work import CURVE, ENTRY, PRODUCT, charge, keep

_MOST_NODES = 500
_MOST_HEADS = 16
_MOST_WEIGHTS = 1 << 20
_STEP = 1500
"""Units of work of a node, whatever its size."""
SHELLS = 8
Values = dict[str, Balls]


@dataclass(frozen=True)
class Operation:
    """A node that is followed as it stands; a `Head` stands for several nodes at once."""

    node: Node
    graph: Graph

    @property
    def inputs(self) -> tuple[str, ...]:
        return tuple(name for name in self.node.inputs if name not in self.graph.integers)

    @property
    def output(self) -> str:
        return self.node.output

    def forward(self, operands: list[Balls]) -> Balls:
        return OPERATORS[self.node.operator].forward(Step(self.node, self.graph, operands))

    def backward(self, operands: list[Balls], result: Balls, adjoint: Balls) -> list[Balls]:
        step = Step(self.node, self.graph, operands, result)
        return OPERATORS[self.node.operator].backward(step, adjoint)

    def work(self, operands: list[Balls], result: Balls) -> int:
        """Units of work of `forward`."""
        size, operator = len(result.entries), self.node.operator
        entries = size + sum(len(operand.entries) for operand in operands)
        if operator in ("MatMul", "Gemm", "AveragePool"):
            row = operands[0].entries if operator == "AveragePool" else range(operands[0].shape[-1])
            return PRODUCT * size * len(row) + ENTRY * entries
        if operator == "Conv":
            taps = prod(operands[1].shape[1:])
            windows = taps * prod(result.shape[2:])
            return PRODUCT * size * taps + ENTRY * (entries + windows)
        return (CURVE if operator in ("Sigmoid", "Tanh", "Softmax") else ENTRY) * entries

    def work_back(self, operands: list[Balls], result: Balls) -> int:
        both = self.node.operator in ("MatMul", "Mul", "Div")  # derivatives by two operands
        return (2 if both else 1) * self.work(operands, result)


@dataclass(frozen=True)
class BallNetwork:
    """All methods are to be called with Arb's precision set to `BITS`."""

    graph: Graph

    @cached_property
    def steps(self) -> list[Operation | Head]:
        """What is evaluated, in order: heads of attention as one, without their inner nodes."""
        if len(self.graph.nodes) > _MOST_NODES:
            raise Unsupported("the network has more nodes than the checker follows in balls")
        if all(node.output != self.graph.output for node in self.graph.nodes):
            raise Rejected("no node makes the network's output")
        heads = HeadPattern.of(self.graph)
        steps: list[Operation | Head] = []
        needed = {self.graph.output}
        for node in reversed(self.graph.nodes):
            if node.output in needed:
                steps.append(heads.ending_in(node) or _operation(node, self.graph))
                if sum(isinstance(step, Head) for step in steps) > _MOST_HEADS:
                    raise Unsupported(f"the network has more than {_MOST_HEADS} attention heads")
                needed.update(steps[-1].inputs)
        return steps[::-1]

    @cached_property
    def _constants(self) -> Values:
        sizes = [prod(tensor.shape) for tensor in self.graph.constants.values()]
        if sum(sizes) > _MOST_WEIGHTS:
            raise Unsupported("the network has more weights than the checker follows in balls")
        return {n: from_vector(t.values(), t.shape) for n, t in self.graph.constants.items()}

    def values(self, inputs: Balls) -> Values:
        """Every tensor that the output needs."""
        values = {**self._constants, self.graph.input: inputs}
        for step in self.steps:
            operands = [values[name] for name in step.inputs]
            values[step.output] = result = step.forward(operands)
            charge(_STEP + step.work(operands, result))
            keep(len(result.entries), 0)
            # without this a quotient by zero could hide behind a zero weight
            if not all(entry.is_finite() for entry in result.entries):
                raise Rejected(f"{step.output[:40]!a} is not finite in balls")
            if len(result.entries) > MOST_ENTRIES:
                raise Unsupported(f"{step.output[:40]!a} makes the network too large for balls")
        check_declared(self.graph, {name: found.shape for name, found in values.items()})
        return values

    def outputs(self, values: Values) -> list[Ball]:
        return values[self.graph.output].entries

    def gradient(self, values: Values, inequality: Inequality) -> list[Ball]:
        """The derivatives of an inequality's excess by each input, over what `values` covers."""
        seed = [arb(0)] * prod(self.graph.output_shape)
        for index, coefficient in inequality.coefficients:
            seed[index] = ball(coefficient)
        adjoints = {self.graph.output: Balls(self.graph.output_shape, seed)}
        for step in reversed(self.steps):
            if step.output not in adjoints:
                continue
            operands, result = [values[name] for name in step.inputs], values[step.output]
            charge(_STEP + step.work_back(operands, result))
            changes = step.backward(operands, result, adjoints[step.output])
            for name, change in zip(step.inputs, changes, strict=False):
                if name not in self.graph.constants:
                    adjoints[name] = _sum(adjoints.get(name), change)
        reached = adjoints.get(self.graph.input)
        return [arb(0)] * prod(self.graph.input_shape) if reached is None else reached.entries


def _operation(node: Node, graph: Graph) -> Operation:
    operator, given = OPERATORS.get(node.operator), set(node.attributes)
    if operator is None or not given <= set(operator.attributes):
        raise Unsupported(f"{node.place()} is not one the checker follows in balls")
    if len(node.inputs) not in operator.inputs or "" in node.inputs:
        raise Unsupported(f"{node.place()} has another number of inputs than it needs")
    integers = [name in graph.integers for name in node.inputs]
    if integers != [operator.indexed and i == 1 for i in range(len(integers))]:
        raise Unsupported(f"{node.place()} takes integers where data belongs, or data for integers")
    if node.operator == "Gemm" and not graph.constants.keys() >= {*node.inputs[1:]}:
        raise Unsupported(f"{node.place()} is not data times a constant matrix")
    return Operation(node, graph)


@dataclass(frozen=True)
class FirstOrder:
    """An excess at the box's centre, and by how much it can fall below that on the box."""

    nominal: Ball
    drop: Ball

    @property
    def least(self) -> Ball:
        return self.nominal - self.drop


class BoxAnalysis:
    """The mean-value form of every excess of a question."""

    def __init__(self, graph: Graph, question: Question) -> None:
        network = BallNetwork(graph)
        self.network, shape = network, graph.input_shape
        ends = list(zip(question.lower, question.upper, strict=True))
        centre = [(a + b) * Fraction(1, 2) for a, b in ends]
        self.radii = [ball((b - a) * Fraction(1, 2)) for a, b in ends]
        self.at_centre = network.values(over_box(centre, centre, shape))
        self.shells = []
        for k in range(1, SHELLS + 1):
            share = Fraction(k, SHELLS)
            low = [c + (a - c) * share for c, (a, _) in zip(centre, ends, strict=True)]
            high = [c + (b - c) * share for c, (_, b) in zip(centre, ends, strict=True)]
            self.shells.append(network.values(over_box(low, high, shape)))

    def first_order(self, inequality: Inequality) -> FirstOrder:
        total = arb(0)
        for values in self.shells:
            gradient = self.network.gradient(values, inequality)
            total += sum((r * abs(g) for r, g in zip(self.radii, gradient, strict=True)), arb(0))
        nominal = excess(inequality, self.network.outputs(self.at_centre))
        return FirstOrder(nominal, arb(quotient(total, arb(SHELLS)).upper()))


def excess(inequality: Inequality, outputs: Sequence[Ball]) -> Ball:
    charge(100 * len(inequality.coefficients))
    terms = (ball(c) * outputs[i] for i, c in inequality.coefficients)
    return sum(terms, start=-ball(inequality.bound))


def highest_margin(graph: Graph, question: Question, point: Vector) -> Fraction:
    """An upper bound of the margin at a point, as sharp as `BITS` bits make it."""
    with ctx.workprec(BITS):
        network = BallNetwork(graph)
        values = network.values(from_vector(point, graph.input_shape))
        outputs = network.outputs(values)
        return Fraction(question.least_of_largest(lambda i: ceiling(excess(i, outputs))))


def _sum(first: Balls | None, second: Balls) -> Balls:
    if first is None:
        return second
    return Balls(first.shape, [a + b for a, b in zip(first.entries, second.entries, strict=True)])
