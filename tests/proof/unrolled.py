"""Any network of affine maps, ReLUs and sums of tensors as a plain chain of layers, exactly.

All tensors are written as affine functions of one vector, at first the input. At a Relu the vector
becomes the ReLU of the tensor's entries, followed by the positive and the negative part of every
other tensor that is read later: x = relu(x) - relu(-x). What comes out is a plain MLP with the same
outputs, found without any idea of what the graph is for.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from exact_minimum import Layer

from assay.errors import Unsupported
from assay.question.network import Network, Node

Row = list[Fraction]


@dataclass(frozen=True)
class Expression:
    """One row of coefficients for each entry, and constants."""

    rows: list[Row]
    constants: Row


def unrolled(network: Network) -> list[Layer]:
    """The chain's layers, or Unsupported for any other kind of node."""
    size = network.inputs
    known = {network.input_name: Expression(_identity(size), [Fraction(0)] * size)}
    layers: list[Layer] = []
    for place, node in enumerate(network.nodes):
        if node.op_type == "Relu":
            later = {i for n in network.nodes[place + 1 :] for i in n.inputs}
            kept = [name for name in known if name in later]
            bent = known[node.inputs[0]]
            rows, constants = list(bent.rows), list(bent.constants)
            for name in kept:
                rows += known[name].rows + [[-v for v in row] for row in known[name].rows]
                constants += known[name].constants + [-v for v in known[name].constants]
            layers.append((rows, constants))
            known = _parts(node.outputs[0], len(bent.rows), kept, known)
        else:
            known[node.outputs[0]] = _affine(node, network, known)
    last = known[network.output_name]
    return [*layers, (last.rows, last.constants)]


def _identity(size: int) -> list[Row]:
    return [[Fraction(int(i == j)) for j in range(size)] for i in range(size)]


def _parts(
    name: str, units: int, kept: list[str], known: dict[str, Expression]
) -> dict[str, Expression]:
    """The tensors after a Relu, as functions of the new vector."""
    sizes = {other: len(known[other].rows) for other in kept}
    unit = _identity(units + 2 * sum(sizes.values()))
    found = {name: Expression(unit[:units], [Fraction(0)] * units)}
    start = units
    for other, size in sizes.items():
        halves = zip(unit[start : start + size], unit[start + size : start + 2 * size], strict=True)
        rows = [[a - b for a, b in zip(up, down, strict=True)] for up, down in halves]
        found[other] = Expression(rows, [Fraction(0)] * size)
        start += 2 * size
    return found


def _affine(node: Node, network: Network, known: dict[str, Expression]) -> Expression:
    shapes = [network.shapes[i] for i in node.inputs]
    operands = [known[i] for i in node.inputs if i in known]
    if node.op_type == "Add" and len(operands) == 2 and shapes[0] == shapes[1]:
        return _sum(*operands)
    rows = len(operands) == 1 and len(shapes[0]) == 2 and shapes[0][0] == 1
    plain = node.attributes.get("alpha", 1) == node.attributes.get("beta", 1) == 1
    if (
        node.op_type not in ("Gemm", "MatMul")
        or node.inputs[0] not in known
        or not (rows and plain)
    ):
        raise Unsupported(f"{node.op_type} is not unrolled")
    weight = network.initializers[node.inputs[1]]
    weight = weight if node.attributes.get("transB", 0) else weight.T
    exact = [[Fraction(float(w)) for w in row] for row in weight]
    result = Expression(
        [_combined(row, operands[0].rows) for row in exact],
        [
            sum((w * c for w, c in zip(row, operands[0].constants, strict=True)), Fraction(0))
            for row in exact
        ],
    )
    if len(node.inputs) < 3:
        return result
    bias = np.broadcast_to(network.initializers[node.inputs[2]], (1, len(exact))).ravel()
    return _sum(
        result,
        Expression(
            [[Fraction(0)] * len(r) for r in result.rows], [Fraction(float(b)) for b in bias]
        ),
    )


def _combined(factors: Row, rows: list[Row]) -> Row:
    total = [Fraction(0)] * len(rows[0])
    for factor, row in zip(factors, rows, strict=True):
        if factor:
            total = [t + factor * v for t, v in zip(total, row, strict=True)]
    return total


def _sum(one: Expression, other: Expression) -> Expression:
    rows = [
        [a + b for a, b in zip(*pair, strict=True)]
        for pair in zip(one.rows, other.rows, strict=True)
    ]
    return Expression(rows, [a + b for a, b in zip(one.constants, other.constants, strict=True)])
