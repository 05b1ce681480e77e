"""A residual network: x + V relu(W x + b) + d again and again, then one affine map.

The first state is the input, or one affine map of it, the stem. Every block is affine, ReLU,
affine and one Add of the result to the state that entered, in either order.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import lcm

from assay.proof.arithmetic import Rejected, Unsupported, Vector
from assay.proof.chain import Affine, follow, relu
from assay.proof.reader import Graph, Node
from assay.proof.work import keep, longest

_MOST_BLOCKS = 256


@dataclass(frozen=True)
class Block:
    """x -> x + outer(relu(inner(x)))."""

    inner: Affine
    outer: Affine

    def at(self, point: Vector) -> Vector:
        added = self.outer.at(relu(self.inner.at(point)))
        common = lcm(point.denominator, added.denominator)
        pairs = zip(point.over(common), added.over(common), strict=True)
        return Vector(tuple(a + b for a, b in pairs), common)


@dataclass(frozen=True, eq=False)
class ResidualNetwork:
    stem: Affine | None
    blocks: tuple[Block, ...]
    last: Affine

    def outputs(self, point: Vector) -> Vector:
        return self.last.at(self.states(point)[-1])

    def states(self, point: Vector) -> list[Vector]:
        """What enters every block, and what leaves the last one."""
        found = [point if self.stem is None else self.stem.at(point)]
        for block in self.blocks:
            found.append(block.at(found[-1]))
            keep(len(found[-1].numerators), longest(found[-1].numerators))
        return found


def is_skip(node: Node, graph: Graph) -> bool:
    """Whether a node adds two tensors that both depend on the input."""
    data = [i for i in node.inputs if i not in graph.constants and i not in graph.integers]
    return node.operator == "Add" and len(data) == 2


def read_residual_network(graph: Graph) -> ResidualNetwork:
    """Recognise the network, or raise Unsupported naming the node that is not part of one."""
    skips = [place for place, node in enumerate(graph.nodes) if is_skip(node, graph)]
    if len(skips) > _MOST_BLOCKS:
        raise Unsupported(f"the network has more than {_MOST_BLOCKS} blocks")
    stem, start = None, _stem_nodes(graph, graph.nodes[skips[0]])
    name, shape = graph.input, graph.input_shape
    if start:
        before, name, shape = follow(graph, graph.nodes[:start], name, shape)
        if before.below:
            raise Unsupported("the network has a ReLU before its first block")
        stem = before.last
    blocks = []
    for place in skips:
        node = graph.nodes[place]
        inside, result, after = follow(graph, graph.nodes[start:place], name, shape)
        if sorted(node.inputs) != sorted((name, result)) or node.attributes or after != shape:
            raise Unsupported(f"{node.place()} does not add a block's result to what entered it")
        if len(inside.hidden) != 1 or inside.hidden[0].pooled or inside.last.pooled:
            raise Unsupported(f"{node.place()} ends a block that has a pool, or not one ReLU")
        blocks.append(Block(inside.hidden[0], inside.last))
        name, start = node.output, place + 1
        graph.check_shape(name, shape)
    outside, name, shape = follow(graph, graph.nodes[start:], name, shape)
    if outside.below or name != graph.output:
        raise Unsupported("the network does not end in one affine map after its last block")
    if shape != graph.output_shape:
        raise Rejected(f"the network makes shape {shape} and declares {graph.output_shape}")
    return ResidualNetwork(stem, tuple(blocks), outside.last)


def _stem_nodes(graph: Graph, skip: Node) -> int:
    """How many nodes make the first state, which is the earlier one of what the first skip adds."""
    if graph.input in skip.inputs:
        return 0
    return 1 + next(i for i, node in enumerate(graph.nodes) if node.output in skip.inputs)
