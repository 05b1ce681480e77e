"""Lower bounds from free multipliers, in float64, and the short integers that carry them.

The same bound as the checker's kernel (`assay.proof.kernel` states and proves it), vectorised
over units. The search evaluates it on multipliers already rounded to what the certificate will
hold, so the exact check finds the same number up to float64 error.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.bounds.relu_network import Bounds, Floats, ReluNetwork

WORD_BITS = 30
LARGEST_SHIFT = 100


@dataclass(frozen=True)
class Multipliers:
    """One number words[j] / 2^shift for each hidden unit, first layer first."""

    shift: int
    words: NDArray[np.int32]

    @classmethod
    def rounded(cls, values: Floats) -> Multipliers:
        largest = float(np.abs(values).max(initial=0.0))
        exponent = int(np.frexp(largest)[1]) if largest > 0 else 0
        shift = int(np.clip(WORD_BITS - exponent, -LARGEST_SHIFT, LARGEST_SHIFT))
        return cls(shift, np.rint(np.ldexp(values, shift)).astype(np.int32))

    def values(self) -> Floats:
        return np.ldexp(self.words.astype(np.float64), -self.shift)


@dataclass(frozen=True)
class Objective:
    """coefficients · z + constant, over the last of `depth` hidden layers."""

    coefficients: Floats
    constant: float
    depth: int

    @classmethod
    def margin(cls, network: ReluNetwork, label: int, rival: int) -> Objective:
        weight, bias = network.weights[-1], network.biases[-1]
        return cls(
            weight[label] - weight[rival],
            float(bias[label] - bias[rival]),
            len(network.hidden),
        )

    @classmethod
    def preactivation(cls, network: ReluNetwork, layer: int, unit: int, sign: int) -> Objective:
        weight, bias = network.weights[layer], network.biases[layer]
        return cls(sign * weight[unit], sign * float(bias[unit]), layer)


def lower_bound(
    network: ReluNetwork,
    objective: Objective,
    multipliers: Floats,
    box: Bounds,
    bounds: list[Bounds],
) -> float:
    """The bound that these multipliers prove when every pre-activation lies in `bounds`."""
    total = objective.constant
    pull = objective.coefficients
    end = len(multipliers)
    for level in range(objective.depth - 1, -1, -1):
        begin = end - network.hidden[level]
        slope = multipliers[begin:end]
        low, high = bounds[level]
        if np.any(low > high):
            return float("inf")
        at_low = pull * np.maximum(low, 0) - slope * low
        at_high = pull * np.maximum(high, 0) - slope * high
        least = np.minimum(at_low, at_high)
        least = np.where((low < 0) & (high > 0), np.minimum(least, 0), least)
        total += float(least.sum()) + float(slope @ network.biases[level])
        pull = slope @ network.weights[level]
        end = begin
    return total + float(np.minimum(pull * box[0], pull * box[1]).sum())
