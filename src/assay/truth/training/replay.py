"""A function of fixed tensors, called many times: on a GPU it is recorded once and replayed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

_WARM_UPS = 2


class Replayed:
    """Calls `body`, which reads and writes the tensors `state` in place and returns nothing.

    Launching small kernels one by one costs more than running them; a CUDA graph launches all at
    once. Recording runs `body` for real, so that `state` is put back afterwards.
    """

    def __init__(self, body: Callable[[], None], state: Sequence[Tensor]) -> None:
        self._body = body
        self._graph: torch.cuda.CUDAGraph | None = None
        if not state[0].is_cuda:
            return
        before = [tensor.detach().clone() for tensor in state]
        aside = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):
            for _ in range(_WARM_UPS):
                body()
        torch.cuda.current_stream().wait_stream(aside)
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph):
            body()
        with torch.no_grad():
            for tensor, value in zip(state, before, strict=True):
                tensor.copy_(value)

    def __call__(self) -> None:
        if self._graph is None:
            self._body()
        else:
            self._graph.replay()
