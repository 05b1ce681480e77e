"""Interval bounds of every tensor of a network on a batch of boxes, sound for the real function.

The real function is that of the float32 weights as exact numbers; `rounding` has the argument
why float64 arithmetic encloses it. Where a bound does not exist (a divisor that may be zero, a
root of what may be negative, an overflow) the interval is infinite.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from assay.errors import AssayError, BadInput, Unsupported
from assay.optional_packages import missing_package
from assay.question.directed import float_above, float_below
from assay.question.network import Network, Node
from assay.question.operators.call import Call, Operator, cannot_run, check_shapes, missing_view
from assay.question.region import Box

try:
    import torch
    from torch import Tensor
except ImportError:
    raise missing_package("torch") from None

from assay.bounds.operators.interval_arithmetic import ARITHMETIC
from assay.bounds.operators.interval_linear import INTERVAL_LINEAR
from assay.bounds.operators.interval_movement import MOVEMENT
from assay.bounds.operators.interval_smooth import SMOOTH_FUNCTIONS
from assay.bounds.rounding import Interval, refuse_flushing
from assay.bounds.rows import as_rows

INTERVAL_OPERATORS: Mapping[str, Operator[Interval]] = (
    ARITHMETIC | INTERVAL_LINEAR | MOVEMENT | SMOOTH_FUNCTIONS
)
"""Adding an operator is one function and one line in its family's table."""

Ends = tuple[Tensor, Tensor]
_TORCH_ERRORS = (ArithmeticError, LookupError, TypeError, ValueError, RuntimeError)


def interval_bounds(network: Network, lower: Tensor, upper: Tensor) -> dict[str, Ends]:
    """Bounds of every tensor that depends on the input, by name: [B, d] boxes to [B, *shape]."""
    engine = IntervalNetwork(network, lower.device)
    found = engine.propagate(engine.start(lower, upper))
    return {
        name: (_spread(x.low, len(lower)), _spread(x.high, len(lower))) for name, x in found.items()
    }


def output_bounds(network: Network, lower: Tensor, upper: Tensor) -> Ends:
    """Bounds [B, outputs] of the outputs, flattened in C order."""
    low, high = interval_bounds(network, lower, upper)[network.output_name]
    return as_rows(low), as_rows(high)


def enclosing_box(box: Box, device: torch.device | None = None) -> Ends:
    """The smallest float64 box around an exact one, as two [1, d] tensors."""
    low = torch.tensor([[float_below(v) for v in box.lower]], dtype=torch.float64, device=device)
    high = [[float_above(v) for v in box.upper]]
    return low, torch.tensor(high, dtype=torch.float64, device=device)


class IntervalNetwork:
    """A network ready for many propagations: weights decoded, constant nodes computed."""

    def __init__(self, network: Network, device: torch.device | None = None) -> None:
        refuse_flushing()
        for node in network.nodes:
            if node.op_type not in INTERVAL_OPERATORS:
                raise missing_view(network, node, "bounds")
        self.network = network
        self.constants = {
            name: Interval.exactly(
                torch.tensor(array, dtype=torch.float64, device=device).unsqueeze(0)
            )
            for name, array in network.initializers.items()
            if array.dtype == np.float32
        }
        moving: list[Node] = []
        for node in network.nodes:
            read = [name for name in node.inputs if name]
            if all(name in self.constants or name in network.initializers for name in read):
                self.constants.update(self.results(node, self.constants))
            else:
                moving.append(node)
        self.nodes = tuple(moving)
        """The nodes that depend on the input, in order."""

    def start(self, lower: Tensor, upper: Tensor) -> Interval:
        """A batch of boxes, checked, in the shape of the network's input."""
        network = self.network
        if lower.shape != upper.shape or lower.ndim != 2 or lower.shape[1] != network.inputs:
            raise BadInput(
                f"{network.place}: boxes of shapes {list(lower.shape)} and {list(upper.shape)} "
                f"where the network takes [B, {network.inputs}]; flatten each box"
            )
        ends = [end.to(torch.float64) for end in (lower, upper)]
        sensible = (ends[0] <= ends[1]) & (ends[0] < math.inf) & (ends[1] > -math.inf)
        if not bool(sensible.all()):
            raise BadInput(f"{network.place}: a box has no numbers between its bounds; fix them")
        low, high = (end.reshape(-1, *network.input_shape) for end in ends)
        return Interval(low, high)

    def propagate(self, box: Interval) -> dict[str, Interval]:
        """The interval of every tensor that depends on the input."""
        values = {self.network.input_name: box}
        with torch.no_grad():
            for node in self.nodes:
                values.update(self.results(node, values))
        if self.network.output_name not in values:
            raise Unsupported(
                f"{self.network.place}: the output is a side result of its node; drop it"
            )
        return values

    def call(self, node: Node, values: Mapping[str, Interval]) -> Call[Interval]:
        found = tuple(values.get(name, self.constants.get(name)) for name in node.inputs)
        return Call(self.network, node, found)

    def moving(self, node: Node) -> tuple[int, ...]:
        """The positions of inputs that depend on the network's input."""
        known = (self.constants, self.network.initializers)
        return tuple(
            i for i, name in enumerate(node.inputs) if name and not any(name in k for k in known)
        )

    def unknown(self, node: Node) -> tuple[int, ...]:
        """The positions of float inputs that are not one known number.

        A constant that was computed with rounding is among them, though it does not move.
        """
        return tuple(
            i
            for i, name in enumerate(node.inputs)
            if name
            and name not in self.network.initializers
            and not (name in self.constants and self.constants[name].exact)
        )

    def results(self, node: Node, values: Mapping[str, Interval]) -> dict[str, Interval]:
        """What one node makes of the intervals of its inputs."""
        call = self.call(node, values)
        try:
            result = INTERVAL_OPERATORS[node.op_type](call)
        except AssayError:
            raise
        except _TORCH_ERRORS as error:
            raise cannot_run(call, error) from None
        results = result if isinstance(result, tuple) else (result,)
        for ends in ([x.low for x in results], [x.high for x in results]):
            check_shapes(call, (end.shape[1:] for end in ends))
        return dict(zip(node.outputs, results, strict=False))


def _spread(end: Tensor, boxes: int) -> Tensor:
    return end.expand(boxes, *end.shape[1:])
