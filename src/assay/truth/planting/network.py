"""Plants and their background as networks: the violated one, and its robust twin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.random import Generator

from assay.proof import reader
from assay.proof import vnnlib as proof_vnnlib
from assay.proof.bumps import are_apart as bumps_are_apart
from assay.proof.bumps import read_bumps
from assay.proof.claim import Claim
from assay.proof.form_network import FormNetwork, read_forms
from assay.question import vnnlib
from assay.question.floaterror import AnyLayer, Layer
from assay.question.graph import GraphBuilder, chain
from assay.question.property import Violation
from assay.question.region import Box
from assay.truth.dyadic import leading_exponent, power
from assay.truth.planting.background import Background, grown
from assay.truth.planting.front import Front
from assay.truth.planting.matrices import Matrix, float32_layer, short_weights
from assay.truth.planting.plant import Layers, Plant, rescaled, side_by_side
from assay.truth.smooth_design import SmoothLayers

Kind = Literal["mlp", "cnn", "sigmoid", "tanh"]
Polarity = Literal["raise", "lower"]


@dataclass(frozen=True)
class Classes:
    """How many there are, the right one, and the one that wins where each bump is high."""

    count: int
    label: int
    targets: tuple[int, ...]

    def bump_weights(
        self, draw: Generator, polarity: Polarity, weights: Sequence[Fraction]
    ) -> Matrix:
        """A column for each bump: its target's weight less the label's is the one given.

        The other targets read it as the label does; the other classes may have a little of it.
        """
        columns = np.zeros((self.count, len(weights)))
        for column, target, weight in zip(columns.T, self.targets, weights, strict=True):
            column[:] = [float(weight * int(n) / 16) for n in draw.integers(-4, 5, self.count)]
            column[[self.label, *self.targets]] = 0.0 if polarity == "raise" else -float(weight)
            column[target] += float(weight)
        return columns


@dataclass(frozen=True)
class Soil:
    """The background asked for: units and cancelling pairs of each hidden layer."""

    kind: Kind
    polarity: Polarity
    neurons: int
    dilution: int


@dataclass(frozen=True)
class Smooth:
    """A second branch, whose outputs are added; label and targets read it alike."""

    body: SmoothLayers
    readout: Layer


@dataclass(frozen=True)
class Grove:
    """Everything but the biases of the outputs."""

    background: Background
    plants: tuple[Plant, ...]
    readout: Matrix
    smooth: Smooth | None

    @property
    def twins(self) -> tuple[Layers, Layers]:
        """The plants' layers of the violated network and of the robust one."""
        return (
            side_by_side([plant.violated for plant in self.plants]),
            side_by_side([plant.robust for plant in self.plants]),
        )

    @property
    def convolutional(self) -> bool:
        return len(self.background.front.shape) > 1

    def layers(self, plants: Layers, biases: Sequence[Fraction]) -> tuple[AnyLayer, ...]:
        """All layers where the network is a chain of ReLUs; none elsewhere."""
        front = self.background.front
        if self.smooth is not None or front.bent:
            return ()
        return (*front.maps, *self.background.hidden(plants), self._last(biases))

    def _last(self, biases: Sequence[Fraction]) -> Layer:
        return float32_layer(self.readout, np.array([float(b) for b in biases]))

    def onnx(self, plants: Layers, biases: Sequence[Fraction]) -> bytes:
        front = self.background.front
        graph = GraphBuilder((1, *front.shape))
        # the smooth branch is written first
        bent = None
        if self.smooth is not None:
            bent = graph.gemm(self.smooth.body.add_to(graph), *self.smooth.readout)
        x = front.write(graph)
        for weight, bias in self.background.hidden(plants):
            x = graph.relu(graph.gemm(x, weight, bias))
        x = graph.gemm(x, *self._last(biases))
        return graph.build(x if bent is None else graph.add(bent, x))


def planted_grove(
    draw: Generator, soil: Soil, plants: Sequence[Plant], front: Front, classes: Classes
) -> Grove:
    balanced = tuple(_balanced(draw, plant, front.domain) for plant in plants)
    layers = side_by_side([plant.violated for plant in balanced])
    background = grown(draw, front, layers, soil.neurons, soil.dilution)
    weights = [plant.heights.weight for plant in balanced]
    bumps = classes.bump_weights(draw, soil.polarity, weights)
    readout = background.readout(draw, classes.label, sorted({*classes.targets}), bumps)
    smooth = None
    if soil.kind == "sigmoid" or soil.kind == "tanh":
        inputs = int(np.prod(front.shape))
        smooth = _smooth(draw, SmoothLayers(soil.kind), inputs, classes, soil.neurons)
    return Grove(background, balanced, readout, smooth)


def claim(onnx: bytes, question: bytes) -> Claim:
    return Claim(proof_vnnlib.read(question), reader.read(onnx), None)


def are_apart(plants: Sequence[Plant], domain: Box) -> bool:
    """Whether the checker sees that no two bumps are positive at the same place."""
    network = _alone(side_by_side([plant.violated for plant in plants]), domain)
    bumps = [bump for form in network.outputs[:-1] for bump in read_bumps(network.space, form)]
    return len(bumps) == len(plants) and bumps_are_apart(network.space, bumps)


def _balanced(draw: Generator, plant: Plant, domain: Box) -> Plant:
    """Every unit scaled by a power of two so that it is of ordinary size on the box."""
    bounds = _alone(plant.violated, domain).bounds
    scales = []
    for index, (_, bias) in enumerate(plant.violated):
        steps = draw.integers(-1, 2, len(bias))
        tops = bounds[index].upper.fractions()
        exponents = [-leading_exponent(top) if top > 0 else 0 for top in tops]
        scales.append(
            np.array([float(power(e + int(s))) for e, s in zip(exponents, steps, strict=True)])
        )
    return rescaled(plant, scales)


def _alone(plants: Layers, domain: Box) -> FormNetwork:
    """1 - bump for each bump, and a one."""
    count = len(plants[-1][1])
    ends = -np.eye(count + 1, count, dtype=np.float32), np.ones(count + 1, np.float32)
    layers = [float32_layer(*layer) for layer in plants]
    question = vnnlib.write(domain, Violation.misclassification(0, count + 1)).encode()
    return read_forms(claim(chain([*layers, ends]), question))


def _smooth(
    draw: Generator, body: SmoothLayers, inputs: int, classes: Classes, neurons: int
) -> Smooth:
    for fan_in in (inputs, neurons):
        bias = draw.integers(-32, 33, neurons) / 64
        body = body.then(float32_layer(2 * short_weights(draw, (neurons, fan_in)), bias))
    rows = short_weights(draw, (classes.count, neurons))
    rows[list(classes.targets)] = rows[classes.label]
    return Smooth(body, float32_layer(rows, np.zeros(classes.count)))
