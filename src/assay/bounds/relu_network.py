"""A ReLU network as alternating affine maps in float64, for the search side of a proof.

The numbers are exactly those of the float32 file; what is computed with them is a guide for the
search, never a proof.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bounds = tuple[Floats, Floats]


@dataclass(frozen=True)
class ReluNetwork:
    """`weights[l] @ z + biases[l]` with a ReLU between each two."""

    weights: tuple[Floats, ...]
    biases: tuple[Floats, ...]

    @classmethod
    def of(cls, layers: Sequence[tuple[NDArray[np.float32], NDArray[np.float32]]]) -> ReluNetwork:
        return cls(
            tuple(np.asarray(w, dtype=np.float64) for w, _ in layers),
            tuple(np.asarray(b, dtype=np.float64) for _, b in layers),
        )

    @property
    def hidden(self) -> tuple[int, ...]:
        """The widths of the hidden layers."""
        return tuple(len(bias) for bias in self.biases[:-1])

    def preactivations(self, points: Floats) -> list[Floats]:
        """The results of all affine maps for points (n, inputs); the outputs come last."""
        values = [points @ self.weights[0].T + self.biases[0]]
        for weight, bias in zip(self.weights[1:], self.biases[1:], strict=True):
            values.append(np.maximum(values[-1], 0) @ weight.T + bias)
        return values

    def margins(self, points: Floats, label: int) -> Floats:
        """For each point, by how much the label beats its best competitor."""
        outputs = self.preactivations(points)[-1]
        rivals = outputs.copy()
        rivals[:, label] = -np.inf
        return np.asarray(outputs[:, label] - rivals.max(axis=1))

    def margin_gradients(self, points: Floats, label: int) -> tuple[Floats, Floats]:
        """Margins and their gradients with respect to the inputs."""
        values = self.preactivations(points)
        rivals = values[-1].copy()
        rivals[:, label] = -np.inf
        best = rivals.argmax(axis=1)
        rows = np.arange(len(points))
        margins = values[-1][:, label] - values[-1][rows, best]
        pull = self.weights[-1][label] - self.weights[-1][best]
        for level in range(len(self.weights) - 2, -1, -1):
            pull = (pull * (values[level] > 0)) @ self.weights[level]
        return margins, pull

    def interval_bounds(self, lower: Floats, upper: Floats) -> list[Bounds]:
        """Interval bounds of the hidden pre-activations over a box."""
        bounds = []
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            middle, spread = (upper + lower) / 2, (upper - lower) / 2
            centre, radius = weight @ middle + bias, np.abs(weight) @ spread
            bounds.append((centre - radius, centre + radius))
            lower, upper = np.maximum(bounds[-1][0], 0), np.maximum(bounds[-1][1], 0)
        return bounds
