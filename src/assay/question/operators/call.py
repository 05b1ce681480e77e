"""One node about to run: its inputs in some view, and what the graph says about them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from assay.errors import SAMPLING_WORKS, BadInput, Unsupported
from assay.question.network import Network, Node

T = TypeVar("T")
Shape = tuple[int, ...]


@dataclass(frozen=True)
class Call(Generic[T]):
    """`inputs` holds float tensors of the view; None where left out or not float32."""

    network: Network
    node: Node
    inputs: tuple[T | None, ...]

    @property
    def place(self) -> str:
        return operator_place(self.network, self.node)

    def has(self, index: int) -> bool:
        return index < len(self.node.inputs) and bool(self.node.inputs[index])

    def value(self, index: int) -> T:
        """The float tensor at `index`."""
        value = self.inputs[index] if index < len(self.inputs) else None
        if value is None:
            raise Unsupported(f"{self.place} is not supported: input {index} is no float32 tensor")
        return value

    def values(self) -> list[T]:
        return [self.value(index) for index in range(len(self.node.inputs))]

    def optional(self, index: int) -> T | None:
        return self.value(index) if self.has(index) else None

    def constant(self, index: int) -> np.ndarray:
        """The array at `index`, which must not depend on the network's input."""
        array = self.network.initializers.get(self.node.inputs[index]) if self.has(index) else None
        if array is None:
            raise Unsupported(f"{self.place} is not supported: input {index} is not constant")
        return array

    def integers(self, index: int, attribute: str) -> tuple[int, ...] | None:
        """Integers given as input `index` or, in older opsets, as an attribute."""
        if self.has(index):
            array = self.constant(index)
            if array.dtype.kind != "i":
                raise BadInput(f"{self.place} takes integers as input {index}; fix the model")
            return tuple(int(v) for v in array.ravel())
        given: tuple[int, ...] | None = self.attribute(attribute, None)
        return given

    def attribute(self, name: str, default: Any) -> Any:
        return self.node.attributes.get(name, default)

    def input_shape(self, index: int) -> Shape:
        return self.network.shapes[self.node.inputs[index]]

    def output_shape(self, index: int = 0) -> Shape:
        return self.network.shapes[self.node.outputs[index]]

    def axis(self, value: int, rank: int) -> int:
        """`value` counted from the front."""
        if not -rank <= value < rank:
            raise BadInput(f"{self.place} has axis {value} on {rank} dimensions; fix the axis")
        return value % rank


Operator = Callable[[Call[T]], "T | tuple[T, ...]"]


def operator_place(network: Network, node: Node) -> str:
    return f"{network.place}: operator {node.op_type} at node {node.name!r}"


def missing_view(network: Network, node: Node, what: str) -> Unsupported:
    """The refusal of an operator that a part of Assay has nothing for."""
    return Unsupported(
        f"{network.place}: Assay has no {what} for operator {node.op_type} yet (node "
        f"{node.name!r}); {SAMPLING_WORKS}"
    )


def cannot_run(call: Call[T], error: Exception) -> BadInput:
    """What a library says of a malformed node, in one sentence that names the node."""
    reason = " ".join(str(error).split())[:160]
    return BadInput(f"{call.place} cannot run ({reason}); export the model again")


def check_shapes(call: Call[T], shapes: Iterable[Sequence[int]]) -> None:
    """Hold the shapes of a node's results, in order, against those that were inferred."""
    for index, shape in enumerate(shapes):
        if tuple(shape) != call.output_shape(index):
            raise BadInput(
                f"{call.place} gives shape {list(shape)} where "
                f"{list(call.output_shape(index))} was inferred; export the model again"
            )


def walk(
    network: Network,
    table: Mapping[str, Operator[T]],
    constants: Mapping[str, T],
    point: T,
    check: Callable[[Call[T], Sequence[T]], None],
) -> T:
    """Run the nodes in order by `table`; `check` sees every call with its results.

    Tensors are dropped after their last use, so that memory stays near the widest layer.
    """
    last_use = {name: i for i, node in enumerate(network.nodes) for name in node.inputs}
    values: dict[str, T] = {network.input_name: point}
    for i, node in enumerate(network.nodes):
        found = tuple(values.get(name, constants.get(name)) for name in node.inputs)
        call = Call(network, node, found)
        result = table[node.op_type](call)
        results = result if isinstance(result, tuple) else (result,)
        check(call, results)
        values.update(zip(node.outputs, results, strict=False))
        for name in node.inputs:
            if last_use[name] == i and name != network.output_name:
                values.pop(name, None)
    if network.output_name not in values:
        raise Unsupported(f"{network.place}: the output is a side result of its node; drop it")
    return values[network.output_name]
