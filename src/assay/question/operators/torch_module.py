"""The torch module behind `torch_view`; imported only where torch is installed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from assay.errors import BadInput
from assay.question.network import Network
from assay.question.operators.call import Call, Operator, check_shapes, missing_view, walk
from assay.question.operators.torch_elementwise import ELEMENTWISE
from assay.question.operators.torch_linear import LINEAR
from assay.question.operators.torch_movement import MOVEMENT

TORCH_OPERATORS: Mapping[str, Operator[Tensor]] = ELEMENTWISE | LINEAR | MOVEMENT
"""Adding an operator is one function and one line in its family's table."""


class TorchNetwork(torch.nn.Module):
    """[N, inputs] -> [N, outputs]; the weights are buffers and take no gradient."""

    def __init__(self, network: Network, dtype: torch.dtype) -> None:
        super().__init__()
        for node in network.nodes:
            if node.op_type not in TORCH_OPERATORS:
                raise missing_view(network, node, "torch view")
        self.network = network
        self._buffer_names: dict[str, str] = {}
        for i, (name, array) in enumerate(network.initializers.items()):
            if array.dtype == np.float32:
                # The names of ONNX tensors may hold dots, which buffers may not.
                self._buffer_names[name] = f"constant_{i}"
                constant = torch.tensor(array, dtype=dtype).unsqueeze(0)
                self.register_buffer(f"constant_{i}", constant)
        self.eval()
        self._try_out(dtype)

    def forward(self, points: Tensor) -> Tensor:
        return self._walked(points, _check)

    def with_arguments(
        self, points: Tensor, operators: Collection[str]
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """The outputs, and what the nodes with these operators take first, [N, units] by name."""
        taken: dict[str, Tensor] = {}

        def note(call: Call[Tensor], results: Sequence[Tensor]) -> None:
            _check(call, results)
            first = call.inputs[0] if call.node.op_type in operators else None
            if first is not None and len(first) == len(points):
                taken[call.node.inputs[0]] = first.flatten(1)

        return self._walked(points, note), taken

    def _walked(
        self, points: Tensor, check: Callable[[Call[Tensor], Sequence[Tensor]], None]
    ) -> Tensor:
        network = self.network
        if points.ndim != 2 or points.shape[1] != network.inputs:
            raise BadInput(
                f"{network.place}: points of shape {list(points.shape)} where the network takes "
                f"[N, {network.inputs}]; flatten each point"
            )
        constants = {name: self.get_buffer(key) for name, key in self._buffer_names.items()}
        start = points.reshape(-1, *network.input_shape)
        result = walk(network, TORCH_OPERATORS, constants, start, check)
        everywhere = result.expand(points.shape[0], *result.shape[1:])
        return everywhere.reshape(points.shape[0], network.outputs)

    def _try_out(self, dtype: torch.dtype) -> None:
        """One evaluation now, so that a malformed node is named before anyone relies on it."""
        try:
            with torch.no_grad():
                self(torch.zeros(2, self.network.inputs, dtype=dtype))
        except (ArithmeticError, LookupError, TypeError, ValueError, RuntimeError) as error:
            reason = " ".join(str(error).split())[:160]
            raise BadInput(
                f"{self.network.place}: cannot run in torch ({reason}); export the model again"
            ) from None


def _check(call: Call[Tensor], results: Sequence[Tensor]) -> None:
    check_shapes(call, (result.shape[1:] for result in results))
