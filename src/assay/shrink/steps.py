"""A network as a row of steps that can be taken apart: matrices, convolutions, what is between.

Reading keeps the form of the graph (a bias in a Gemm, or in an Add behind a MatMul), because a
tool's bug may hang on it. Networks that branch are not read; passes about steps leave them alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.errors import Unsupported
from assay.question.convolution import ConvLayer
from assay.question.graph import GraphBuilder
from assay.question.mlp_layers import plain_affine, plain_convolution
from assay.question.network import Network, Node
from assay.question.operators.call import operator_place

Shape = tuple[int, ...]
Floats = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Matrix:
    """weight x + bias; `added` says that it is a MatMul, with the bias in an Add of its own."""

    weight: Floats
    bias: Floats | None
    added: bool = False

    @property
    def offsets(self) -> Floats:
        """The bias, zeros where there is none."""
        return np.zeros(len(self.weight), np.float32) if self.bias is None else self.bias


@dataclass(frozen=True)
class Elementwise:
    """An activation that takes every number on its own."""

    operator: str
    slope: float = 0.0


@dataclass(frozen=True)
class Pool:
    """A window that moves over an image; without a kernel it is the whole image."""

    operator: str
    kernel: tuple[int, int] | None = None
    strides: tuple[int, int] = (1, 1)
    pads: tuple[int, int, int, int] = (0, 0, 0, 0)
    counts_padding: bool = False


@dataclass(frozen=True)
class Flatten:
    """An image becomes one row."""


Step = Matrix | ConvLayer | Elementwise | Pool | Flatten
_ELEMENTWISE = ("Relu", "Sigmoid", "Tanh", "LeakyRelu")
_POOLS = ("AveragePool", "MaxPool")
_ROWS = ("Flatten", "Reshape", "Squeeze")


@dataclass(frozen=True)
class Steps:
    """The steps behind an input of this shape, whose first dimension is 1."""

    input_shape: Shape
    items: tuple[Step, ...]

    @cached_property
    def shapes(self) -> tuple[Shape, ...]:
        """What enters each step, and last what comes out."""
        shapes = [self.input_shape]
        for step in self.items:
            shapes.append(_shape_after(step, shapes[-1]))
        return tuple(shapes)

    def onnx(self) -> bytes:
        """The file; raises BadInput where the steps do not fit together."""
        graph = GraphBuilder(self.input_shape)
        x = graph.input
        for step in self.items:
            x = _written(graph, x, step)
        return graph.build(x)

    def with_step(self, place: int, *steps: Step) -> Steps:
        """Other steps, or none, in the place of one."""
        return replace(self, items=(*self.items[:place], *steps, *self.items[place + 1 :]))

    def weighted(self) -> list[int]:
        """The places of the matrices and convolutions."""
        return [i for i, step in enumerate(self.items) if isinstance(step, Matrix | ConvLayer)]


def read_steps(network: Network) -> Steps:
    """The steps of a network; Unsupported names the node that is none."""
    items: list[Step] = []
    name = network.input_name
    for node in network.nodes:
        place = operator_place(network, node)
        if [i for i in node.inputs if i and i not in network.initializers] != [name]:
            raise Unsupported(f"{place} does not follow the node before it")
        step = _step(place, node, name, network)
        last = items[-1] if items else None
        if isinstance(step, Matrix) or not isinstance(step, np.ndarray):
            items.append(step)
        elif isinstance(last, Matrix) and last.added and last.bias is None:
            items[-1] = replace(last, bias=step)
        else:
            raise Unsupported(f"{place} adds no bias to a product")
        name = node.outputs[0]
    if name != network.output_name or network.input_shape[0] != 1:
        raise Unsupported(f"{network.place} is not one row of steps for one input")
    return Steps(network.input_shape, tuple(items))


def _step(place: str, node: Node, name: str, network: Network) -> Step | Floats:
    """The step of a node; an array is a bias to add."""
    constants = [network.initializers.get(i) for i in node.inputs]
    before, after = network.shapes[name], network.shapes[node.outputs[0]]
    attributes = node.attributes
    if node.op_type in ("Gemm", "MatMul") and node.inputs[0] == name and len(before) == 2:
        weight, bias = plain_affine(place, attributes, constants[1:])
        return Matrix(weight, bias, node.op_type == "MatMul")
    if node.op_type == "Conv":
        return plain_convolution(place, node, network)
    if node.op_type == "Add" and len(before) == 2 and after == before:
        added = next(c for c in constants if c is not None)
        return np.broadcast_to(added.reshape(-1), (before[1],)).astype(np.float32)
    if node.op_type in _ELEMENTWISE:
        leaky = node.op_type == "LeakyRelu"
        return Elementwise(node.op_type, float(attributes.get("alpha", 0.01)) if leaky else 0.0)
    if node.op_type == "GlobalAveragePool":
        return Pool(node.op_type)
    if node.op_type in _POOLS and len(before) == 4 and _is_plain(attributes):
        return _pool(node)
    if node.op_type in _ROWS and after == (1, math.prod(before)):
        return Flatten()
    raise Unsupported(f"{place} is not a step that can be taken apart")


def _is_plain(attributes: Any) -> bool:
    odd = ("auto_pad", "dilations", "storage_order")
    return not any(name in attributes for name in odd) and not attributes.get("ceil_mode", 0)


def _pool(node: Node) -> Pool:
    attributes = node.attributes
    kernel = tuple(attributes["kernel_shape"])
    strides = tuple(attributes.get("strides", (1, 1)))
    pads = tuple(attributes.get("pads", (0, 0, 0, 0)))
    counts = bool(attributes.get("count_include_pad", 0))
    return Pool(
        node.op_type,
        (kernel[0], kernel[1]),
        (strides[0], strides[1]),
        (pads[0], pads[1], pads[2], pads[3]),
        counts,
    )


def _shape_after(step: Step, shape: Shape) -> Shape:
    match step:
        case Matrix():
            return (1, len(step.weight))
        case ConvLayer():
            image = (shape[1], shape[2], shape[3])
            return (1, *replace(step, image=image).output)
        case Pool(kernel=None):
            return (*shape[:2], 1, 1)
        case Pool():
            return (*shape[:2], *_positions(step, shape))
        case Flatten():
            return (1, math.prod(shape))
    return shape


def _positions(pool: Pool, shape: Shape) -> tuple[int, int]:
    assert pool.kernel is not None
    rooms = [shape[i + 2] + pool.pads[i] + pool.pads[i + 2] - pool.kernel[i] for i in (0, 1)]
    return rooms[0] // pool.strides[0] + 1, rooms[1] // pool.strides[1] + 1


def _written(graph: GraphBuilder, x: str, step: Step) -> str:
    match step:
        case Matrix(added=False):
            return graph.gemm(x, step.weight, step.bias)
        case Matrix():
            product = graph.matmul(x, np.ascontiguousarray(step.weight.T))
            return product if step.bias is None else graph.add(product, step.bias)
        case ConvLayer():
            return graph.conv(x, step.kernel, step.bias, strides=step.strides, pads=step.pads)
        case Elementwise("LeakyRelu"):
            return graph.leaky_relu(x, step.slope)
        case Elementwise():
            written: dict[str, Callable[[str], str]] = {
                "Relu": graph.relu,
                "Sigmoid": graph.sigmoid,
                "Tanh": graph.tanh,
            }
            return written[step.operator](x)
        case Pool(kernel=None):
            return graph.global_average_pool(x)
        case Pool("MaxPool"):
            assert step.kernel is not None
            return graph.max_pool(x, step.kernel, strides=step.strides, pads=step.pads)
        case Pool():
            assert step.kernel is not None
            window = {"strides": step.strides, "pads": step.pads}
            return graph.average_pool(
                x, step.kernel, count_include_pad=step.counts_padding, **window
            )
    return graph.flatten(x)


def without(array: Floats, places: Sequence[int], axis: int) -> Floats:
    return np.ascontiguousarray(np.delete(array, list(places), axis))
