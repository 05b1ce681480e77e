"""Adam for a bank of networks, whose gradients are clipped one by one."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from assay.truth.training.bank import Parameters

_BETAS = (0.9, 0.999)
_TINY = 1e-8


class Adam:
    """Changes `parameters` in place, as a CUDA graph asks for; so are `rate` and the moments."""

    def __init__(self, parameters: Parameters, clip: float, device: torch.device) -> None:
        self._parameters, self._clip = parameters, clip
        self.rate = torch.zeros((), device=device)
        self.ticks = torch.zeros((), device=device)
        """Steps taken."""
        self.first = {name: torch.zeros_like(value) for name, value in parameters.items()}
        self.second = {name: torch.zeros_like(value) for name, value in parameters.items()}

    def descend(self, slopes: Mapping[str, Tensor]) -> None:
        squares = sum(slope.flatten(1).square().sum(1) for slope in slopes.values())
        assert isinstance(squares, Tensor)
        scale = (self._clip / (squares.sqrt() + _TINY)).clamp(max=1)
        self.ticks += 1
        for name, slope in slopes.items():
            clipped = slope * scale.view(-1, *[1] * (slope.dim() - 1))
            first, second = self.first[name], self.second[name]
            first.lerp_(clipped, 1 - _BETAS[0])
            second.lerp_(clipped.square(), 1 - _BETAS[1])
            mean = first / (1 - torch.pow(_BETAS[0], self.ticks))
            spread = second / (1 - torch.pow(_BETAS[1], self.ticks))
            self._parameters[name].sub_(self.rate * mean / (spread.sqrt() + _TINY))
