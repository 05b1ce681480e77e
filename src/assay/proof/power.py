"""A shallow polynomial network: affine, entrywise power, affine.

The power is one Pow with a constant natural exponent, or a tree of Mul nodes in which every
factor is a power made before: the exponents add up, whatever the order. Nothing in between:
the guard relies on d - 1 roundings, or on those of one Pow.
"""

from __future__ import annotations

from dataclasses import dataclass

from assay.proof.arithmetic import Rejected, Unsupported, Vector
from assay.proof.chain import Affine, follow
from assay.proof.reader import Graph, Node

_LARGEST_DEGREE = 64
_MOST_BITS = 1 << 27


@dataclass(frozen=True)
class PowerNetwork:
    """x -> last((first(x))^degree), the power entry by entry."""

    first: Affine
    degree: int
    last: Affine

    @property
    def layers(self) -> tuple[Affine, Affine]:
        return self.first, self.last

    def outputs(self, point: Vector) -> Vector:
        values = self.first.at(point)
        refuse_long_powers(values, self.degree)
        powers = tuple(n**self.degree for n in values.numerators)
        return self.last.at(Vector(powers, values.denominator**self.degree))


def refuse_long_powers(values: Vector, degree: int) -> None:
    """Numbers of absurd length must not keep the checker busy for hours."""
    longest = max(abs(n).bit_length() for n in (*values.numerators, values.denominator))
    if len(values.numerators) * degree * longest > _MOST_BITS:
        raise Unsupported("the powers of the hidden units are too long for the checker")


def is_power(node: Node) -> bool:
    return node.operator in ("Pow", "Mul")


def read_power_network(graph: Graph) -> PowerNetwork:
    """Recognise the network, or raise Unsupported naming the node that is not part of one."""
    places = [i for i, node in enumerate(graph.nodes) if is_power(node)]
    begin, end = places[0], places[-1] + 1
    before, name, shape = follow(graph, graph.nodes[:begin], graph.input, graph.input_shape)
    for node in graph.nodes[begin:end]:
        graph.check_shape(node.output, shape)
    name, degree = _power(graph, graph.nodes[begin:end], name)
    after, name, shape = follow(graph, graph.nodes[end:], name, shape)
    if before.below or after.below or name != graph.output:
        raise Unsupported("the network is not one affine map, a power and one more affine map")
    if shape != graph.output_shape:
        raise Rejected(f"the network makes shape {shape} and declares {graph.output_shape}")
    return PowerNetwork(before.last, degree, after.last)


def _power(graph: Graph, nodes: tuple[Node, ...], name: str) -> tuple[str, int]:
    """The tensor that the last of these nodes makes, and which power of `name` it is."""
    degrees = {name: 1}
    for node in nodes:
        extra = node.attributes or node.lists
        if extra or len(node.inputs) != 2 or node.inputs[0] not in degrees:
            raise Unsupported(f"{node.place()} is not a power of the hidden units")
        left, right = node.inputs
        if node.operator == "Mul" and right in degrees:
            degree = degrees[left] + degrees[right]
        elif node.operator == "Pow" and len(nodes) == 1:
            degree = _exponent(graph, node)
        else:
            raise Unsupported(f"{node.place()} is not a power of the hidden units")
        if degree > _LARGEST_DEGREE:
            raise Unsupported(f"{node.place()} makes a degree above {_LARGEST_DEGREE}")
        degrees[node.output] = degree
    return nodes[-1].output, degree


def _exponent(graph: Graph, node: Node) -> int:
    constant = graph.constants.get(node.inputs[1])
    # one number, of a rank that does not add dimensions to a row
    if constant is None or constant.shape not in ((), (1,), (1, 1)):
        raise Unsupported(f"{node.place()} does not have one constant exponent")
    (value,) = constant.values().fractions()
    if value.denominator != 1 or not 2 <= value <= _LARGEST_DEGREE:
        raise Unsupported(f"{node.place()} has an exponent that is not from 2 to 64")
    return value.numerator
