"""The examples of several networks as tensors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from assay.truth.training.examples import Examples


@dataclass(frozen=True)
class ExampleTensors:
    """Every tensor has a first axis of networks; the examples with a counterexample come first."""

    centres: Tensor
    """[networks, examples, inputs]"""
    labels: Tensor
    """[networks, examples]"""
    targets: Tensor
    """[networks, planted]"""
    counterexamples: Tensor
    """[networks, planted, inputs]"""
    epsilon: Tensor
    """[networks]"""

    @classmethod
    def of(cls, each: Sequence[Examples], device: torch.device) -> ExampleTensors:
        def stack(values: list[np.ndarray]) -> Tensor:
            return torch.tensor(np.array(values), device=device)

        return cls(
            stack([examples.centres for examples in each]),
            stack([examples.labels for examples in each]),
            stack([examples.targets for examples in each]),
            stack([examples.counterexamples for examples in each]),
            torch.tensor([examples.epsilon for examples in each], device=device),
        )

    @property
    def planted(self) -> int:
        return self.targets.shape[1]
