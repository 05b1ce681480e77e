"""Shapes that a file declares of tensors in between, where a rule reads several nodes as one."""

from __future__ import annotations

from assay.proof.arithmetic import Unsupported
from assay.proof.chain import reshaped
from assay.proof.reader import Graph, Node

Shape = tuple[int, ...]


def check_declared(graph: Graph, known: dict[str, Shape]) -> None:
    """Reject a declared shape that its tensor does not have; `known` are shapes found before."""
    shapes = {graph.input: graph.input_shape, **known}
    shapes |= {name: tensor.shape for name, tensor in graph.constants.items()}
    for node in graph.nodes:
        data = [name for name in node.inputs if name not in graph.integers]
        if node.output not in shapes and shapes.keys() >= {*data}:
            shape = _made(node, [shapes[name] for name in data], graph)
            shapes |= {} if shape is None else {node.output: shape}
    if not graph.declared.keys() <= {*shapes, *graph.integers}:
        raise Unsupported("the network declares shapes that the checker does not follow")
    for name, shape in shapes.items():
        graph.check_shape(name, shape)


def _made(node: Node, given: list[Shape], graph: Graph) -> Shape | None:
    """The shape that a node of attention makes; None where that is not followed."""
    first, last = given[0], given[-1]
    if node.operator in ("Relu", "Softmax"):
        return first
    if node.operator in ("Add", "Sub", "Mul", "Div"):
        rank = max(len(first), len(last))
        return tuple(map(max, *((1,) * (rank - len(shape)) + shape for shape in (first, last))))
    if node.operator == "Flatten":
        return reshaped(node, first, graph)
    if node.operator == "Transpose" and sorted(node.permutation) == [*range(len(first))]:
        return tuple(first[axis] for axis in node.permutation)
    if node.operator == "ReduceSum" and graph.integers.get(node.inputs[-1]) in ((-1,), (2,)):
        return (*first[:2], 1) if len(first) == 3 else None
    if node.operator == "MatMul" and min(len(first), len(last)) >= 2:
        return (*max(first[:-2], last[:-2], key=len), first[-2], last[-1])
    return None
