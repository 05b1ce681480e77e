"""Inequalities whose coefficients cancel in the last affine layer of a network: constant excesses.

Two equal outputs tie wherever the units in front of them are, and rounding could never show it.
So the coefficients of an inequality are carried back in rationals, through what is done to each
output alone and the matrix in front of that. If all vanish there, the excess is its constant.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from assay.question.network import Network, Node
from assay.question.property import Inequality

_KEEPS_ORDER = ("Flatten", "Reshape", "Identity", "Squeeze", "Unsqueeze", "Dropout")
_Coefficients = Mapping[int, Fraction]


def constant_excess(network: Network, inequality: Inequality) -> Fraction | None:
    """The excess of an inequality that depends on no unit; None where one may move it."""
    makers = {name: node for node in network.nodes for name in node.outputs[:1]}
    total: dict[int, Fraction] = {}
    for output, factor in inequality.terms:
        total[output] = total.get(output, Fraction(0)) + factor
    found = {output: factor for output, factor in total.items() if factor}
    constant, name = -inequality.bound, network.output_name
    while found and name in makers:
        node = makers[name]
        moving = [i for i in node.inputs if i and i not in network.initializers]
        if len(moving) != 1:
            return None
        if node.op_type in ("Gemm", "MatMul") and moving[0] == node.inputs[0]:
            return _through_matrix(network, node, found, constant)
        if node.op_type not in _KEEPS_ORDER:
            if network.shapes[moving[0]] != network.shapes[name]:
                return None
            step = _through_one_each(network, node, found)
            if step is None:
                return None
            found, added = step
            constant += added
        name = moving[0]
    return None if found else constant


def _through_one_each(
    network: Network, node: Node, found: _Coefficients
) -> tuple[dict[int, Fraction], Fraction] | None:
    """Coefficients in front of an operator that changes every number alone, and what it adds."""
    if node.op_type == "Neg":
        return {o: -c for o, c in found.items()}, Fraction(0)
    if node.op_type not in ("Add", "Sub", "Mul"):
        return None
    place = next(k for k, name in enumerate(node.inputs) if name in network.initializers)
    shape = network.shapes[node.outputs[0]]
    held = np.broadcast_to(network.initializers[node.inputs[place]], shape).reshape(-1)
    exact = {o: Fraction(float(held[o])) for o in found}
    if node.op_type == "Mul":
        return {o: c * exact[o] for o, c in found.items() if exact[o]}, Fraction(0)
    # Of a - b, the constant may be either.
    taken, held_sign = ((1, -1) if place else (-1, 1)) if node.op_type == "Sub" else (1, 1)
    added = sum((c * exact[o] for o, c in found.items()), start=Fraction(0))
    return {o: taken * c for o, c in found.items()}, held_sign * added


def _through_matrix(
    network: Network, node: Node, found: _Coefficients, constant: Fraction
) -> Fraction | None:
    """The constant if every unit in front of the matrix has the coefficient 0."""
    matrix = _matrix(network, node)
    if matrix is None:
        return None
    alpha, beta = (Fraction(float(node.attributes.get(name, 1.0))) for name in ("alpha", "beta"))
    for unit in range(len(matrix) if alpha else 0):
        # Most rows end here at the first unit.
        if sum(c * Fraction(float(matrix[unit, o])) for o, c in found.items()):
            return None
    if node.op_type == "Gemm" and len(node.inputs) > 2 and node.inputs[2]:
        shape = network.shapes[node.outputs[0]]
        bias = np.broadcast_to(network.initializers[node.inputs[2]], shape).reshape(-1)
        constant += beta * sum(c * Fraction(float(bias[o])) for o, c in found.items())
    return constant


def _matrix(network: Network, node: Node) -> NDArray[np.float32] | None:
    """[units, outputs] of a product that takes one row of units to one row of outputs."""
    held = network.initializers.get(node.inputs[1])
    if held is None or held.ndim != 2 or node.attributes.get("transA", 0):
        return None
    matrix = held.T if node.attributes.get("transB", 0) else held
    shapes = (network.shapes[node.inputs[0]], network.shapes[node.outputs[0]])
    fits = tuple(map(math.prod, shapes)) == matrix.shape
    return matrix if fits else None
