"""Linear attention read from a graph: sum_j w_ij v_j / sum_j w_ij with w_ij = phi(q_i) · phi(k_j).

q_i, k_i and v_i are affine maps of token i; phi(z) = relu(z) + offset or relu(z)^2 + offset. A
constant may be taken from the flattened rows before the linear read-out. The nodes are followed
back from the output; whatever does not fit is Unsupported, with its place.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import prod

from flint import fmpz_mat

from assay.proof.arithmetic import Rejected, Unsupported, Vector
from assay.proof.chain import Affine
from assay.proof.declared_shapes import check_declared
from assay.proof.reader import Graph, Node, Tensor


@dataclass(frozen=True)
class Feature:
    """phi(z) = relu(z)^power + offset of an affine map of one token."""

    map: Affine
    power: int
    offset: Fraction


@dataclass(frozen=True)
class LinearAttention:
    """`shift` is what the read-out's input is lowered by, in the order of its columns."""

    tokens: int
    width: int
    query: Feature
    key: Feature
    value: Affine
    shift: Vector
    readout: Affine


def read_linear_attention(graph: Graph) -> LinearAttention:
    return _Reader(graph).network()


class _Reader:
    def __init__(self, graph: Graph) -> None:
        if len(graph.input_shape) != 3 or graph.input_shape[0] != 1:
            raise Unsupported("linear attention takes an input of shape (1, tokens, width)")
        check_declared(graph, {graph.output: graph.output_shape})
        self.graph = graph
        self.tokens, self.width = graph.input_shape[1:]
        self.makers = {node.output: node for node in graph.nodes}

    def network(self) -> LinearAttention:
        gemm = self.node(self.graph.output, "Gemm", 3)
        if gemm.attributes.get("transB", 0) != 1 or gemm.attributes.get("transA", 0):
            raise Unsupported(f"{gemm.place()} is not a linear read-out with transB = 1")
        readout = self.affine(gemm, gemm.inputs[1], gemm.inputs[2], transposed=False)
        flat, shift = self.unshifted(gemm.inputs[0], readout.fan_in)
        division = self.node(self.node(flat, "Flatten", 1).inputs[0], "Div", 2)
        mixed = self.node(division.inputs[0], "MatMul", 2)
        total = self.node(division.inputs[1], "ReduceSum", 2)
        axes = self.graph.integers.get(total.inputs[1])
        if total.inputs[0] != mixed.inputs[0] or axes not in ((-1,), (2,)):
            raise Unsupported(f"{total.place()} does not add up the weights of each row")
        if total.attributes.get("keepdims", 1) != 1:
            raise Unsupported(f"{total.place()} does not keep its dimension")
        weights = self.node(mixed.inputs[0], "MatMul", 2)
        turned = self.node(weights.inputs[1], "Transpose", 1)
        if turned.permutation != (0, 2, 1):
            raise Unsupported(f"{turned.place()} is not the transpose of the keys")
        query, key = self.feature(weights.inputs[0]), self.feature(turned.inputs[0])
        value = self.projection(mixed.inputs[1])
        if query.map.units != key.map.units or readout.fan_in != self.tokens * value.units:
            raise Rejected("the shapes of queries, keys, values and read-out do not fit")
        if self.graph.output_shape != (1, readout.units):
            raise Rejected(f"the network makes shape {(1, readout.units)}, not what it declares")
        return LinearAttention(self.tokens, self.width, query, key, value, shift, readout)

    def node(self, name: str, operator: str, inputs: int) -> Node:
        """The node that makes a tensor, if it is the one that belongs there."""
        node = self.makers.get(name)
        if node is None or node.operator != operator or len(node.inputs) != inputs:
            raise Unsupported(f"{name[:40]!a} is not made by the {operator} of linear attention")
        known = {"Gemm": {"alpha", "beta", "transA", "transB"}, "ReduceSum": {"keepdims"}}
        if node.operator == "Flatten" and node.attributes.get("axis", 1) == 1:
            known["Flatten"] = {"axis"}
        if not set(node.attributes) <= known.get(node.operator, set()):
            raise Unsupported(f"{node.place()} has an attribute that is not understood")
        return node

    def constant(self, node: Node, name: str, shape: tuple[int, ...] | None) -> Tensor:
        tensor = self.graph.constants.get(name)
        if tensor is None or (shape is not None and tensor.shape != shape):
            raise Unsupported(f"{node.place()} does not take a constant of shape {shape}")
        return tensor

    def unshifted(self, name: str, size: int) -> tuple[str, Vector]:
        node = self.makers.get(name)
        if node is None or node.operator != "Sub":
            return name, Vector((0,) * size, 1)
        node = self.node(name, "Sub", 2)
        return node.inputs[0], self.constant(node, node.inputs[1], (1, size)).values()

    def feature(self, name: str) -> Feature:
        node = self.node(name, "Add", 2)
        tensor = self.constant(node, node.inputs[1], None)
        if prod(tensor.shape) != 1 or len(tensor.shape) > 3:
            raise Unsupported(f"{node.place()} adds something else than one number")
        (offset,) = tensor.values().fractions()
        inner, power = node.inputs[0], 1
        if inner in self.makers and self.makers[inner].operator == "Mul":
            square = self.node(inner, "Mul", 2)
            if square.inputs[0] != square.inputs[1]:
                raise Unsupported(f"{square.place()} is not a square")
            inner, power = square.inputs[0], 2
        return Feature(self.projection(self.node(inner, "Relu", 1).inputs[0]), power, offset)

    def projection(self, name: str) -> Affine:
        """input · weight, or that plus a bias."""
        maker = self.makers.get(name)
        if maker is not None and maker.operator == "Add":
            add = self.node(name, "Add", 2)
            return self.affine(*self.product(add.inputs[0]), add.inputs[1], transposed=True)
        return self.affine(*self.product(name), None, transposed=True)

    def product(self, name: str) -> tuple[Node, str]:
        node = self.node(name, "MatMul", 2)
        if node.inputs[0] != self.graph.input:
            raise Unsupported(f"{node.place()} does not take the network's input")
        return node, node.inputs[1]

    def affine(self, node: Node, weight: str, bias: str | None, *, transposed: bool) -> Affine:
        matrix = self.constant(node, weight, None)
        if len(matrix.shape) != 2 or (transposed and matrix.shape[0] != self.width):
            raise Unsupported(f"{node.place()} has a weight of shape {matrix.shape}")
        values = matrix.values()
        integers = fmpz_mat(*matrix.shape, list(values.numerators))
        integers = integers.transpose() if transposed else integers
        units = int(integers.nrows())
        plain = Affine(integers, (0,) * units, values.denominator)
        return plain if bias is None else plain.plus(self.constant(node, bias, (units,)).values())
