"""From the pixels that a study perturbs to the numbers that a network was trained on."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn


@dataclass(frozen=True)
class Preparation:
    """(pixel / full - mean) / deviation, a channel at a time; pixels go from 0 to 255."""

    full: float = 255.0
    mean: tuple[float, ...] = (0.0,)
    deviation: tuple[float, ...] = (1.0,)

    def __call__(self, pixels: torch.Tensor) -> torch.Tensor:
        """`pixels` [n, channels, height, width] as float32, prepared."""
        per_channel = (1, -1, 1, 1)
        mean = torch.tensor(self.mean, device=pixels.device).reshape(per_channel)
        deviation = torch.tensor(self.deviation, device=pixels.device).reshape(per_channel)
        return (pixels.float() / self.full - mean) / deviation


AS_THEY_ARE = Preparation(full=1.0)
UNIT = Preparation()
MINUS_ONE_TO_ONE = Preparation(mean=(0.5,), deviation=(0.5,))
MNIST_STANDARD = Preparation(mean=(0.1307,), deviation=(0.3081,))
"""Zero mean and unit variance over the pixels of MNIST's training part."""


class OnPixels(nn.Module):
    """A network with its preparation in front: pixels 0 to 255 in, scores out."""

    def __init__(self, preparation: Preparation, network: nn.Module) -> None:
        super().__init__()
        self.preparation = preparation
        self.network = network

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        scores: torch.Tensor = self.network(self.preparation(pixels))
        return scores
