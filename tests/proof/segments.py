"""A chain of any affine operators and ReLUs as plain layers: each part at zero and at unit vectors.

Only `assay.question`'s exact evaluation is asked, so a pool or a product is what it says.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import prod

from exact_minimum import Layer

from assay.errors import Unsupported
from assay.question.exact import ExactFunction
from assay.question.network import Network, Node

AFFINE = {"AveragePool", "Conv", "Gemm", "MatMul", "Add", "Flatten", "Reshape", "Identity"}


def measured(network: Network) -> list[Layer]:
    """The layers between ReLUs, or Unsupported where the nodes are no chain of affine maps."""
    layers: list[Layer] = []
    start, nodes = network.input_name, list[Node]()
    for node in network.nodes:
        if node.op_type == "Relu":
            layers.append(_layer(network, start, nodes, node.inputs[0]))
            start, nodes = node.outputs[0], []
        else:
            nodes.append(node)
    return [*layers, _layer(network, start, nodes, network.output_name)]


def _layer(network: Network, start: str, nodes: list[Node], end: str) -> Layer:
    known = {start, *network.initializers}
    for node in nodes:
        if node.op_type not in AFFINE or not known.issuperset(node.inputs):
            raise Unsupported(f"{node.op_type} does not continue a chain")
        # sums with the data on both sides would be affine, too, but no chain
        known = {node.outputs[0], *network.initializers}
    if end not in known or end in network.initializers:
        raise Unsupported(f"{end} is not where the chain ends")
    part = ExactFunction(
        replace(
            network,
            input_name=start,
            input_shape=network.shapes[start],
            output_name=end,
            output_shape=network.shapes[end],
            nodes=tuple(nodes),
        )
    )
    size = prod(network.shapes[start])
    bias = part([Fraction(0)] * size)
    columns = [
        [value - b for value, b in zip(part(unit), bias, strict=True)]
        for unit in ([Fraction(int(i == j)) for j in range(size)] for i in range(size))
    ]
    return [list(row) for row in zip(*columns, strict=True)], bias
