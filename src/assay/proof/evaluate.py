"""The exact value of a network at a rational point, operator by operator."""

from __future__ import annotations

from collections.abc import Callable
from math import lcm, prod

from flint import fmpz_mat

from assay.proof.arithmetic import Rejected, Unsupported, Vector, entries
from assay.proof.chain import gemm_matrix, relu, reshaped
from assay.proof.reader import Graph, Node, Tensor


def evaluate(graph: Graph, point: Vector) -> Vector:
    """The outputs at `point`, flattened in C order."""
    tensors = dict(graph.constants)
    tensors[graph.input] = Tensor(graph.input_shape, point)
    for node in graph.nodes:
        operator = _OPERATORS.get(node.operator)
        if operator is None:
            raise Unsupported(f"{node.place()} is not an operator the checker evaluates exactly")
        data = [tensors[name] for name in node.inputs if name in tensors]
        tensors[node.output] = operator(node, data, graph)
    if graph.output not in tensors or tensors[graph.output].shape != graph.output_shape:
        raise Rejected("the network does not make an output of its declared shape")
    return tensors[graph.output].values


def _gemm(node: Node, data: list[Tensor], graph: Graph) -> Tensor:
    left = data[0]
    if len(left.shape) != 2 or node.inputs[0] in graph.constants:
        raise Unsupported(f"{node.place()} is not a matrix times a constant matrix")
    rows, fan_in = left.shape
    matrix, values = gemm_matrix(node, graph, fan_in)
    product = fmpz_mat(rows, fan_in, list(left.values.numerators)) * matrix.transpose()
    denominator = left.values.denominator * values.denominator
    result = Tensor((rows, int(matrix.nrows())), Vector(tuple(entries(product)), denominator))
    if node.operator == "MatMul" or len(node.inputs) < 3:
        return result
    plain = Node("Add", node.name, node.inputs, node.output, {})
    return _elementwise(plain, [result, data[2]], graph)


def _elementwise(node: Node, data: list[Tensor], _: Graph) -> Tensor:
    if len(data) != 2 or node.attributes:
        raise Unsupported(f"{node.place()} has not two operands")
    left, right = data
    rank = max(len(left.shape), len(right.shape))
    shapes = [(1,) * (rank - len(t.shape)) + t.shape for t in data]
    if any(a != b and 1 not in (a, b) for a, b in zip(*shapes, strict=True)):
        raise Rejected(f"{node.place()} has operands of shapes {left.shape} and {right.shape}")
    shape = tuple(max(a, b) for a, b in zip(*shapes, strict=True))
    first, second = (
        _spread(t.values.numerators, s, shape) for t, s in zip(data, shapes, strict=True)
    )
    d, e = left.values.denominator, right.values.denominator
    if node.operator == "Mul":
        values = tuple(a * b for a, b in zip(first, second, strict=True))
        return Tensor(shape, Vector(values, d * e))
    common = lcm(d, e)
    f, g = common // d, common // e * (-1 if node.operator == "Sub" else 1)
    return Tensor(
        shape, Vector(tuple(a * f + b * g for a, b in zip(first, second, strict=True)), common)
    )


def _spread(flat: tuple[int, ...], shape: tuple[int, ...], wanted: tuple[int, ...]) -> list[int]:
    """Repeat elements along dimensions of size 1, as broadcasting does."""
    values = list(flat)
    for axis, (have, want) in enumerate(zip(shape, wanted, strict=True)):
        if have != want:
            block = prod(shape[axis + 1 :])
            pieces = range(0, len(values), block)
            values = [v for start in pieces for v in values[start : start + block] * want]
            shape = (*shape[:axis], want, *shape[axis + 1 :])
    return values


def _relu(node: Node, data: list[Tensor], _: Graph) -> Tensor:
    if len(data) != 1 or node.attributes:
        raise Unsupported(f"{node.place()} has not one operand")
    return Tensor(data[0].shape, relu(data[0].values))


def _reshape(node: Node, data: list[Tensor], graph: Graph) -> Tensor:
    return Tensor(reshaped(node, data[0].shape, graph), data[0].values)


_OPERATORS: dict[str, Callable[[Node, list[Tensor], Graph], Tensor]] = {
    "Gemm": _gemm,
    "MatMul": _gemm,
    "Add": _elementwise,
    "Sub": _elementwise,
    "Mul": _elementwise,
    "Relu": _relu,
    "Flatten": _reshape,
    "Reshape": _reshape,
    "Identity": _reshape,
}
