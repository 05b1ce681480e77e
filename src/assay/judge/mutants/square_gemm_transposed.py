"""A square weight matrix the wrong way round."""

from __future__ import annotations

from dataclasses import replace

from assay.judge.power.mutant import Mutant
from assay.judge.power.seams import misread_nodes
from assay.question.network import Network, Node


def _turned(network: Network, node: Node) -> Node:
    if node.op_type != "Gemm" or len(set(network.shapes[node.inputs[1]])) != 1:
        return node
    turned = 1 - int(node.attributes.get("transB", 0))
    return replace(node, attributes={**node.attributes, "transB": turned})


MUTANT = Mutant(
    name="square-gemm-transposed",
    bug="operator misread",
    story="Gemm guesses transB from the shapes, which say nothing of square matrices.",
    swaps=(misread_nodes(_turned),),
    operators=frozenset({"Gemm"}),
)
