"""Conv pads are read in the wrong order."""

from __future__ import annotations

from dataclasses import replace

from assay.judge.power.mutant import Mutant
from assay.judge.power.seams import misread_nodes
from assay.question.network import Network, Node


def _shifted(_: Network, node: Node) -> Node:
    pads = node.attributes.get("pads")
    if node.op_type != "Conv" or pads is None:
        return node
    half = len(pads) // 2
    total = tuple(a + b for a, b in zip(pads[:half], pads[half:], strict=True))
    return replace(node, attributes={**node.attributes, "pads": (*(0,) * half, *total)})


MUTANT = Mutant(
    name="pads-at-one-side",
    bug="operator misread",
    story="The padding of a convolution goes to the far ends of its axes only.",
    swaps=(misread_nodes(_shifted),),
    operators=frozenset({"Conv"}),
)
