"""Slope variations of the networks under test."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from assay.bounds.interval import IntervalNetwork
from assay.bounds.rounding import Interval
from assay.difficulty.slope_variation import slope_variations
from assay.question.network import Network


def of(values: Sequence[float]) -> Tensor:
    return torch.tensor([list(values)], dtype=torch.float64)


def propagated(
    network: Network, lower: Tensor, upper: Tensor
) -> tuple[IntervalNetwork, dict[str, Interval]]:
    engine = IntervalNetwork(network)
    return engine, engine.propagate(engine.start(lower, upper))


def varied(network: Network, lower: Tensor, upper: Tensor) -> Tensor:
    """The slope variations of the last nonlinear node."""
    found = slope_variations(*propagated(network, lower, upper))
    return found[list(found)[-1]]
