"""A network as a chain: affine, ReLU, affine, ReLU, …, affine, over the flattened tensors.

The graph itself is recognised: every node must take its data from the node before it. An affine
map is one Gemm, one Conv, one AveragePool, or one MatMul with at most one Add after it, so that its
float32 evaluation is one sum of fan-in + 1 terms a unit; the guard relies on that. A pool's inverse
is rounded, too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import lcm, prod

from flint import fmpz_mat

from assay.proof.arithmetic import Rejected, Unsupported, Vector, column, entries
from assay.proof.convolution import MOST_WINDOWS, Convolution, read_convolution
from assay.proof.pooling import read_pool
from assay.proof.reader import Graph, Node, Tensor
from assay.proof.work import charge_product, fit, longest

_LONGEST_NUMBER = 1 << 16


@dataclass(frozen=True, eq=False)
class Affine:
    """x -> (weight x + bias) / denominator, all integers; nodes with equal weights share one."""

    weight: fmpz_mat
    bias: tuple[int, ...]
    denominator: int
    pooled: bool = False

    @property
    def units(self) -> int:
        return int(self.weight.nrows())

    @property
    def fan_in(self) -> int:
        return int(self.weight.ncols())

    @property
    def inputs(self) -> int:
        return self.fan_in

    @cached_property
    def length(self) -> int:
        """The bits of the longest weight."""
        return longest(entries(self.weight))

    @cached_property
    def rows(self) -> list[list[int]]:
        return [[int(entry) for entry in row] for row in self.weight.tolist()]

    @cached_property
    def signed_parts(self) -> tuple[fmpz_mat, fmpz_mat]:
        """The positive and the negative part of the weight matrix."""
        flat, shape = entries(self.weight), (self.units, self.fan_in)
        positive = fmpz_mat(*shape, [max(entry, 0) for entry in flat])
        return positive, self.weight - positive

    def times(self, matrix: fmpz_mat, values: list[int]) -> list[int]:
        """A matrix of this map's shape, no longer than its weights, times a vector."""
        charge_product(self.units, self.fan_in, 1, self.length, longest(values))
        return entries(matrix * column(values))

    def responses(self) -> list[list[int]]:
        """Units that share their weights, so differ by their bias alone."""
        groups: dict[tuple[int, ...], list[int]] = {}
        for unit, row in enumerate(self.rows):
            groups.setdefault(tuple(row), []).append(unit)
        return list(groups.values())

    def at(self, point: Vector) -> Vector:
        product = self.times(self.weight, list(point.numerators))
        values = (p + b * point.denominator for p, b in zip(product, self.bias, strict=True))
        return Vector(tuple(values), self.denominator * point.denominator)

    def plus(self, bias: Vector) -> Affine:
        """The same map with a bias; it had none."""
        common = lcm(self.denominator, bias.denominator)
        weight = self.weight * (common // self.denominator)
        return replace(self, weight=weight, bias=bias.over(common), denominator=common)


Layer = Affine | Convolution


@dataclass(frozen=True)
class Chain:
    """Affine maps with a ReLU between each two; the last one, a matrix, makes the outputs."""

    below: tuple[Layer, ...]
    last: Affine

    @property
    def layers(self) -> tuple[Layer, ...]:
        return (*self.below, self.last)

    @cached_property
    def hidden(self) -> tuple[Affine, ...]:
        """The hidden layers of a network without convolutions."""
        matrices = tuple(layer for layer in self.below if isinstance(layer, Affine))
        if len(matrices) < len(self.below):
            raise Unsupported("this kind of certificate is for networks without convolutions")
        return matrices

    def outputs(self, point: Vector, start: int = 0) -> Vector:
        """The exact outputs when `point` enters layer `start`."""
        for layer in self.below[start:]:
            point = relu(layer.at(point))
        return self.last.at(point)


def relu(vector: Vector) -> Vector:
    # weights of absurd sizes, one after another, must not keep the checker busy for hours
    bits = longest((*vector.numerators, vector.denominator))
    if bits > _LONGEST_NUMBER:
        raise Unsupported("the exact values of a layer are longer than the checker follows")
    fit(len(vector.numerators), bits)
    return Vector(tuple(max(n, 0) for n in vector.numerators), vector.denominator)


def read_chain(graph: Graph) -> Chain:
    """Recognise the chain, or raise Unsupported naming the node that is not part of one."""
    chain, name, shape = follow(graph, graph.nodes, graph.input, graph.input_shape)
    if name != graph.output:
        raise Unsupported("the network does not end in a matrix that makes its output")
    if shape != graph.output_shape:
        raise Rejected(f"the network makes shape {shape} and declares {graph.output_shape}")
    return chain


def follow(
    graph: Graph, nodes: tuple[Node, ...], name: str, shape: tuple[int, ...]
) -> tuple[Chain, str, tuple[int, ...]]:
    """Some nodes as a chain that starts from a tensor; the name and shape of where it ends."""
    layers: list[Layer] = []
    affine: Layer | None = None
    windows = 0
    for node in nodes:
        data = [i for i in node.inputs if i not in graph.constants and i not in graph.integers]
        if data != [name]:
            raise Unsupported(f"{node.place()} does not continue a chain of layers")
        if node.lists and node.operator not in ("Conv", "AveragePool"):
            raise Unsupported(f"{node.place()} has an attribute that the checker does not know")
        form = (node.operator, len(node.inputs))
        if node.operator in ("Flatten", "Reshape", "Identity"):
            shape = reshaped(node, shape, graph)
        elif form == ("Relu", 1) and not node.attributes and affine is not None:
            layers.append(affine)
            affine = None
        elif form in (("Gemm", 2), ("Gemm", 3), ("MatMul", 2)) and affine is None:
            key = _key(node, shape)
            if key not in graph.made:
                graph.made[key] = _affine(node, name, shape, graph)
            affine = graph.made[key]
            shape = (1, affine.units)
        elif form in (("Conv", 2), ("Conv", 3)) and affine is None:
            key = _key(node, shape)
            if key not in graph.made:
                graph.made[key] = read_convolution(node, name, shape, graph)
                windows += _window_entries(graph.made[key][0])
            affine, shape = graph.made[key]
        elif form == ("AveragePool", 1) and affine is None:
            matrix, denominator, shape = read_pool(node, shape)
            affine = Affine(matrix, (0,) * int(matrix.nrows()), denominator, pooled=True)
            windows += affine.units * affine.fan_in
        elif form == ("Add", 2) and not node.attributes and isinstance(affine, Affine):
            if any(affine.bias):
                raise Unsupported(f"{node.place()} adds a second bias")
            constant = node.inputs[1] if node.inputs[0] == name else node.inputs[0]
            key = affine, constant, shape
            if key not in graph.made:
                graph.made[key] = affine.plus(_row(node, constant, shape, graph))
            affine = graph.made[key]
        else:
            raise Unsupported(f"{node.place()} does not fit into a chain of affine maps and ReLUs")
        if windows > MOST_WINDOWS:
            raise Unsupported(f"{node.place()} makes the network too large for the checker")
        name = node.output
        graph.check_shape(name, shape)
    if not isinstance(affine, Affine):
        raise Unsupported("the network does not end in a matrix that makes its output")
    return Chain(tuple(layers), affine), name, shape


def reshaped(node: Node, shape: tuple[int, ...], graph: Graph) -> tuple[int, ...]:
    """The shape after a node that leaves the elements and their C order alone."""
    form = (node.operator, len(node.inputs))
    if form == ("Identity", 1) and not node.attributes:
        return shape
    if form == ("Flatten", 1) and set(node.attributes) <= {"axis"}:
        axis = node.attributes.get("axis", 1)
        if -len(shape) <= axis <= len(shape):
            axis = axis + len(shape) if axis < 0 else axis
            return prod(shape[:axis]), prod(shape[axis:])
    if form == ("Reshape", 2) and not node.attributes:
        wanted = list(graph.integers.get(node.inputs[1], ()))
        for i, entry in enumerate(wanted[: len(shape)]):
            wanted[i] = entry or shape[i]
        if wanted.count(-1) == 1:
            wanted[wanted.index(-1)] = prod(shape) // max(-prod(wanted), 1)
        if wanted and all(entry > 0 for entry in wanted) and prod(wanted) == prod(shape):
            return tuple(wanted)
    raise Unsupported(f"{node.place()} is not a reshape the checker understands")


def _window_entries(layer: Convolution) -> int:
    return layer.fan_in * prod(layer.geometry.positions)


def _key(node: Node, shape: tuple[int, ...]) -> object:
    """The same for all nodes that make one layer of the data that they take."""
    attributes = (tuple(sorted(part.items())) for part in (node.attributes, node.lists))
    return node.operator, node.inputs[1:], shape, *attributes


def _affine(node: Node, name: str, shape: tuple[int, ...], graph: Graph) -> Affine:
    plain = _product(node, name, shape, graph)
    if len(node.inputs) == 2:
        return plain
    return plain.plus(_row(node, node.inputs[2], (1, plain.units), graph))


def _product(node: Node, name: str, shape: tuple[int, ...], graph: Graph) -> Affine:
    """The linear map of a Gemm or MatMul whose right factor is a constant matrix."""
    weight = graph.constants.get(node.inputs[1])
    gemm = {"alpha": (1,), "beta": (1,), "transA": (0,), "transB": (0, 1)}
    allowed: dict[str, tuple[int, ...]] = gemm if node.operator == "Gemm" else {}
    plain = all(value in allowed.get(key, ()) for key, value in node.attributes.items())
    if node.inputs[0] != name or weight is None or len(weight.shape) != 2 or not plain:
        raise Unsupported(f"{node.place()} is not data times a constant matrix")
    transposed = node.attributes.get("transB", 0)
    if shape != (1, weight.shape[transposed]):
        raise Unsupported(f"{node.place()} takes shape {shape}, not one row that fits its matrix")
    values = weight.values()
    matrix = fmpz_mat(*weight.shape, list(values.numerators))
    matrix = matrix if transposed else matrix.transpose()
    return Affine(matrix, (0,) * int(matrix.nrows()), values.denominator)


def _row(node: Node, name: str, shape: tuple[int, ...], graph: Graph) -> Vector:
    """A constant spread over `shape` by ONNX broadcasting, leading dimensions of 1 allowed."""
    constant: Tensor | None = graph.constants.get(name)
    if constant is None or len(constant.shape) > len(shape):
        raise Unsupported(f"{node.place()} adds something else than a constant row")
    values = constant.values()
    if prod(constant.shape) == 1:
        return Vector(values.numerators * prod(shape), values.denominator)
    if (1,) * (len(shape) - len(constant.shape)) + constant.shape != shape:
        raise Unsupported(f"{node.place()} broadcasts a constant of shape {constant.shape}")
    return values
