"""A network as a chain: affine, ReLU, affine, ReLU, …, affine, over the flattened tensors.

The graph itself is recognised: every node must take its data from the node before it, and
consecutive affine nodes are composed exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import lcm, prod

from flint import fmpz_mat

from assay.proof.arithmetic import Unsupported, Vector, column, entries
from assay.proof.reader import Graph, Node, Tensor


@dataclass(frozen=True)
class Affine:
    """x -> (weight x + bias) / denominator, all integers.

    `single` tells that it is one Gemm, or one MatMul with at most one Add after it: then its
    float32 evaluation is one sum of fan-in + 1 terms per unit, which the guard relies on.
    """

    weight: fmpz_mat
    bias: tuple[int, ...]
    denominator: int
    single: bool

    @property
    def units(self) -> int:
        return int(self.weight.nrows())

    @property
    def fan_in(self) -> int:
        return int(self.weight.ncols())

    @cached_property
    def rows(self) -> list[list[int]]:
        return [[int(entry) for entry in row] for row in self.weight.tolist()]

    @cached_property
    def signed_parts(self) -> tuple[fmpz_mat, fmpz_mat]:
        """The positive and the negative part of the weight matrix."""
        flat = entries(self.weight)
        shape = (self.units, self.fan_in)
        return (
            fmpz_mat(*shape, [max(entry, 0) for entry in flat]),
            fmpz_mat(*shape, [min(entry, 0) for entry in flat]),
        )

    def at(self, point: Vector) -> Vector:
        product = entries(self.weight * column(point.numerators))
        bias = (b * point.denominator for b in self.bias)
        values = tuple(p + b for p, b in zip(product, bias, strict=True))
        return Vector(values, self.denominator * point.denominator)


@dataclass(frozen=True)
class Chain:
    """affine maps with a ReLU between each two; the last one makes the outputs."""

    layers: tuple[Affine, ...]

    @property
    def hidden(self) -> tuple[Affine, ...]:
        return self.layers[:-1]

    def outputs(self, point: Vector, start: int = 0) -> Vector:
        """The exact outputs when `point` enters layer `start`."""
        for layer in self.layers[start:-1]:
            point = relu(layer.at(point))
        return self.layers[-1].at(point)


def relu(vector: Vector) -> Vector:
    return Vector(tuple(max(n, 0) for n in vector.numerators), vector.denominator)


def read_chain(graph: Graph) -> Chain:
    """Recognise the chain, or raise Unsupported naming the node that is not part of one."""
    layers: list[Affine] = []
    current: Affine | None = None
    name, shape = graph.input, graph.input_shape
    for node in graph.nodes:
        data = [i for i in node.inputs if i not in graph.constants and i not in graph.integers]
        if data != [name]:
            raise Unsupported(f"{node.place()} does not continue a chain of layers")
        if node.operator == "Relu" and len(node.inputs) == 1:
            if current is None:
                raise Unsupported(f"{node.place()} has no affine map before it")
            layers.append(current)
            current = None
        elif node.operator in ("Flatten", "Reshape", "Identity"):
            shape = reshaped(node, shape, graph)
        else:
            affine, shape = _affine(node, name, shape, graph)
            current = affine if current is None else _compose(node, affine, current)
        name = node.output
    if current is None or name != graph.output:
        raise Unsupported("the network does not end in an affine map that is its output")
    if prod(graph.output_shape) != current.units:
        raise Unsupported("the network's declared output shape is not that of its last layer")
    return Chain((*layers, current))


def reshaped(node: Node, shape: tuple[int, ...], graph: Graph) -> tuple[int, ...]:
    """The shape after a node that leaves the elements and their C order alone."""
    size = prod(shape)
    if node.operator == "Identity" and len(node.inputs) == 1 and not node.attributes:
        return shape
    if node.operator == "Flatten" and len(node.inputs) == 1 and set(node.attributes) <= {"axis"}:
        axis = node.attributes.get("axis", 1)
        if -len(shape) <= axis <= len(shape):
            axis = axis + len(shape) if axis < 0 else axis
            return prod(shape[:axis]), prod(shape[axis:])
    if node.operator == "Reshape" and len(node.inputs) == 2 and not node.attributes:
        wanted = list(graph.integers.get(node.inputs[1], ()))
        for i, entry in enumerate(wanted):
            if entry == 0 and i < len(shape):
                wanted[i] = shape[i]
        if wanted.count(-1) == 1 and all(entry == -1 or entry > 0 for entry in wanted):
            rest = -prod(wanted)
            wanted[wanted.index(-1)] = size // rest if size % rest == 0 else 0
        if wanted and all(entry > 0 for entry in wanted) and prod(wanted) == size:
            return tuple(wanted)
    raise Unsupported(f"{node.place()} is not a reshape the checker understands")


def gemm_matrix(node: Node, graph: Graph, fan_in: int) -> tuple[fmpz_mat, Vector]:
    """The matrix (units x fan-in) of a Gemm or MatMul with constant right factor."""
    allowed = {"alpha": 1, "beta": 1, "transA": 0, "transB": 0}
    settings = {**allowed, **node.attributes}
    weight = graph.constants.get(node.inputs[1]) if len(node.inputs) > 1 else None
    gemm = node.operator == "Gemm"
    if (
        weight is None
        or len(weight.shape) != 2
        or set(settings) != set(allowed)
        or (settings["alpha"], settings["beta"], settings["transA"]) != (1, 1, 0)
        or settings["transB"] not in (0, 1)
        or (not gemm and (node.attributes or len(node.inputs) != 2))
    ):
        raise Unsupported(f"{node.place()} is not data times a constant matrix")
    matrix = fmpz_mat(*weight.shape, list(weight.values.numerators))
    if not settings["transB"]:
        matrix = matrix.transpose()
    if int(matrix.ncols()) != fan_in:
        raise Unsupported(f"{node.place()} has a matrix that does not fit its input")
    return matrix, weight.values


def _affine(
    node: Node, name: str, shape: tuple[int, ...], graph: Graph
) -> tuple[Affine, tuple[int, ...]]:
    if node.operator in ("Gemm", "MatMul") and node.inputs[0] == name:
        if len(shape) != 2 or shape[0] != 1:
            raise Unsupported(f"{node.place()} takes a tensor of shape {shape}, not one row")
        matrix, values = gemm_matrix(node, graph, shape[1])
        units = int(matrix.nrows())
        if len(node.inputs) == 3:
            bias = _row(node, graph.constants.get(node.inputs[2]), (1, units))
        else:
            bias = Vector((0,) * units, 1)
        common = lcm(values.denominator, bias.denominator)
        return Affine(
            matrix * (common // values.denominator),
            tuple(b * (common // bias.denominator) for b in bias.numerators),
            common,
            single=True,
        ), (1, units)
    if node.operator in ("Add", "Sub", "Mul") and len(node.inputs) == 2 and not node.attributes:
        first = node.inputs[0] == name
        constant = _row(node, graph.constants.get(node.inputs[1 if first else 0]), shape)
        size, common = prod(shape), constant.denominator
        if node.operator == "Mul":
            return Affine(_diagonal(constant.numerators), (0,) * size, common, single=False), shape
        sign = -1 if node.operator == "Sub" and not first else 1
        flip = -1 if node.operator == "Sub" and first else 1
        shift = tuple(flip * n for n in constant.numerators)
        diagonal = (sign * common,) * size
        return Affine(_diagonal(diagonal), shift, common, single=node.operator == "Add"), shape
    raise Unsupported(f"{node.place()} is not an operator of a chain of affine maps and ReLUs")


def _row(node: Node, constant: Tensor | None, shape: tuple[int, ...]) -> Vector:
    """A constant spread over `shape` by ONNX broadcasting, leading dimensions of 1 allowed."""
    if constant is None:
        raise Unsupported(f"{node.place()} has an operand that is not a constant")
    if prod(constant.shape) == 1 and len(constant.shape) <= len(shape):
        return Vector(constant.values.numerators * prod(shape), constant.values.denominator)
    padded = (1,) * (len(shape) - len(constant.shape)) + constant.shape
    if padded != shape:
        raise Unsupported(f"{node.place()} broadcasts a constant of shape {constant.shape}")
    return constant.values


def _diagonal(values: tuple[int, ...]) -> fmpz_mat:
    size = len(values)
    if size > 4096:
        raise Unsupported("an elementwise affine map is too large for the checker")
    flat = [0] * (size * size)
    flat[:: size + 1] = values
    return fmpz_mat(size, size, flat)


def _compose(node: Node, outer: Affine, inner: Affine) -> Affine:
    """outer after inner, exactly."""
    shifted = entries(outer.weight * column(inner.bias))
    bias = tuple(s + b * inner.denominator for s, b in zip(shifted, outer.bias, strict=True))
    # a MatMul followed by one Add is still a single sum: its inner bias is zero
    single = node.operator == "Add" and inner.single and not any(inner.bias)
    return Affine(outer.weight * inner.weight, bias, outer.denominator * inner.denominator, single)
