"""AveragePool at the edges."""

from __future__ import annotations

from dataclasses import replace

from assay.judge.power.mutant import Mutant
from assay.judge.power.seams import misread_nodes
from assay.question.network import Network, Node


def _counting(_: Network, node: Node) -> Node:
    if node.op_type != "AveragePool":
        return node
    flipped = 1 - int(node.attributes.get("count_include_pad", 0))
    return replace(node, attributes={**node.attributes, "count_include_pad": flipped})


MUTANT = Mutant(
    name="pool-counts-padding",
    bug="average pool",
    story="AveragePool divides by the wrong count at padded edges: count_include_pad is inverted.",
    swaps=(misread_nodes(_counting),),
    operators=frozenset({"AveragePool"}),
)
