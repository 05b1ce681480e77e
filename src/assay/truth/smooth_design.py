"""Smooth layers at points, for designs that any machine repeats.

As in `corner_search`, values are rounded to 30 bits after every step and weights are short integers
times powers of two, so that sums of products are exact in float64. Sigmoid and Tanh are rounded
from Arb balls: no platform's mathematics library is asked. All this decides nothing but the
design; what is claimed is proved in balls.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from assay.question.graph import GraphBuilder
from assay.truth.corner_search import Floats, rounded

Activation = Literal["sigmoid", "tanh"]
Layer = tuple[NDArray[np.float32], NDArray[np.float32]]
"""A weight (out, in) and a bias."""
_BITS = 64


@dataclass(frozen=True)
class SmoothLayers:
    """Matrices, each with the activation after it."""

    activation: Activation
    layers: tuple[Layer, ...] = ()

    def then(self, layer: Layer) -> SmoothLayers:
        return SmoothLayers(self.activation, (*self.layers, layer))

    def add_to(self, graph: GraphBuilder) -> str:
        x = graph.input
        for weight, bias in self.layers:
            response = graph.gemm(x, weight, bias)
            x = graph.tanh(response) if self.activation == "tanh" else graph.sigmoid(response)
        return x

    def features(self, points: Floats) -> list[Floats]:
        """What enters every layer and what leaves the last, one row a point."""
        found = [rounded(points)]
        for weight, bias in self.layers:
            found.append(self._bent(rounded(found[-1] @ weight.T.astype(np.float64)) + bias))
        return found

    def gradients(self, point: Floats, rows: Floats) -> Floats:
        """How each combination of the features (a row) grows with each input."""
        slopes = rounded(rows)
        found = self.features(point[None])[1:]
        for (weight, _), values in zip(reversed(self.layers), reversed(found), strict=True):
            steep = values * (1 - values) if self.activation == "sigmoid" else 1 - values * values
            slopes = rounded(rounded(slopes * steep) @ weight.astype(np.float64))
        return slopes

    def _bent(self, values: Floats) -> Floats:
        with ctx.workprec(_BITS):
            if self.activation == "tanh":
                bent = [float(arb(v).tanh().mid()) for v in values.ravel().tolist()]
            else:
                bent = [float((1 + arb(v / 2).tanh()).mid()) / 2 for v in values.ravel().tolist()]
        return rounded(np.array(bent)).reshape(values.shape)
