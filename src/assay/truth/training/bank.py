"""Several networks of one architecture as one: every tensor has a first axis of networks.

A GPU runs thirty small networks in little more time than one. Convolutions and pools over a 5 x 5
image are written as matrices, which are small; a network is then products and activations.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import torch
from torch import Tensor

Parameters = dict[str, Tensor]


class Bank(Protocol):
    """`[networks, points, inputs] -> [networks, points, classes]`."""

    parameters: Parameters
    """What is trained; each of shape [networks, ...]."""
    statistics: Parameters
    """What is measured while training, not trained."""

    def frozen(self, *, fast: bool = False) -> list[Tensor]:
        """What `run` needs, computed from the parameters; in half precision if `fast`."""
        ...

    def run(self, frozen: list[Tensor], points: Tensor) -> Tensor: ...

    def train(self, points: Tensor, weights: Tensor) -> Tensor:
        """As `run`; `weights` [networks, points] says how much a point counts in statistics."""
        ...


def stacked(drawn: list[Mapping[str, Tensor]], device: torch.device) -> Parameters:
    return {name: torch.stack([one[name] for one in drawn]).to(device) for name in drawn[0]}


def uniform(draw: torch.Generator, shape: tuple[int, ...], fan_in: int) -> Tensor:
    """Between plus and minus one over the root of what a unit reads."""
    bound = float(fan_in) ** -0.5
    return (torch.rand(shape, generator=draw) * 2 - 1).mul(bound)
