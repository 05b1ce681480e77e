"""A plant and its background as networks: the violated one, and its robust twin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.random import Generator

from assay.proof import reader
from assay.proof import vnnlib as proof_vnnlib
from assay.proof.claim import Claim
from assay.proof.form_network import read_forms
from assay.question import vnnlib
from assay.question.floaterror import AnyLayer, Layer
from assay.question.graph import GraphBuilder, chain
from assay.question.property import Violation
from assay.question.region import Box
from assay.truth.dyadic import leading_exponent, power
from assay.truth.planting.background import (
    Background,
    convolutional_front,
    float32_layer,
    grown,
    plain_front,
    short_weights,
)
from assay.truth.planting.placement import Site
from assay.truth.planting.plant import Layers, Matrix, Plant, rescaled
from assay.truth.smooth_design import SmoothLayers

Kind = Literal["mlp", "cnn", "sigmoid", "tanh"]
Polarity = Literal["raise", "lower"]


@dataclass(frozen=True)
class Classes:
    """How many there are, the right one, and the one that wins where the bump is high."""

    count: int
    label: int
    target: int

    def bump_weights(self, draw: Generator, polarity: Polarity, weight: Fraction) -> list[float]:
        """The label's is `weight` below the target's; the others may have a little of either."""
        drawn = draw.integers(-4, 5, self.count)
        weights = [float(weight * int(n) / 16) for n in drawn]
        weights[self.label] = 0.0 if polarity == "raise" else -float(weight)
        weights[self.target] = float(weight) if polarity == "raise" else 0.0
        return weights


@dataclass(frozen=True)
class Soil:
    """The background asked for: units and cancelling pairs of each hidden layer."""

    kind: Kind
    polarity: Polarity
    neurons: int
    dilution: int


@dataclass(frozen=True)
class Smooth:
    """A second branch, whose outputs are added; label and target read it alike."""

    body: SmoothLayers
    readout: Layer


@dataclass(frozen=True)
class Grove:
    """Everything but the biases of the outputs."""

    background: Background
    plant: Plant
    readout: Matrix
    smooth: Smooth | None

    def layers(self, plant: Layers, biases: Sequence[Fraction]) -> tuple[AnyLayer, ...]:
        last = float32_layer(self.readout, np.array([float(b) for b in biases]))
        return (*self.background.hidden(plant), last)

    def onnx(self, plant: Layers, biases: Sequence[Fraction]) -> bytes:
        layers = self.layers(plant, biases)
        if self.smooth is None:
            return chain(layers)
        graph = GraphBuilder((1, len(self.background.front.seats)))
        bent = graph.gemm(self.smooth.body.add_to(graph), *self.smooth.readout)
        x = graph.input
        for number, layer in enumerate(layers):
            x = graph.gemm(graph.relu(x) if number else x, *_matrix(layer))
        return graph.build(graph.add(bent, x))


def planted_grove(draw: Generator, soil: Soil, plant: Plant, site: Site, classes: Classes) -> Grove:
    plant = _balanced(draw, plant, Box.around(site.middle, site.epsilon))
    inputs = len(site.middle)
    front = convolutional_front(draw, inputs) if soil.kind == "cnn" else plain_front(inputs)
    background = grown(draw, front, plant.violated, site.middle, soil.neurons, soil.dilution)
    bump = classes.bump_weights(draw, soil.polarity, plant.heights.weight)
    readout = background.readout(draw, classes.count, classes.label, classes.target, bump)
    smooth = None
    if soil.kind == "sigmoid" or soil.kind == "tanh":
        smooth = _smooth(draw, SmoothLayers(soil.kind), inputs, classes, soil.neurons)
    return Grove(background, plant, readout, smooth)


def claim(onnx: bytes, question: bytes) -> Claim:
    return Claim(proof_vnnlib.read(question), reader.read(onnx), None)


def _matrix(layer: AnyLayer) -> Layer:
    if not isinstance(layer, tuple):
        raise TypeError("a smooth background stands beside matrices only")
    return layer


def _balanced(draw: Generator, plant: Plant, box: Box) -> Plant:
    """Every unit scaled by a power of two so that it is of ordinary size on the box."""
    ends = np.ones((2, 1), np.float32), np.zeros(2, np.float32)
    layers = [float32_layer(*layer) for layer in plant.violated]
    question = vnnlib.write(box, Violation.misclassification(0, 2)).encode()
    bounds = read_forms(claim(chain([*layers, ends]), question)).bounds
    scales = []
    for index in range(len(layers)):
        steps = draw.integers(-1, 2, len(layers[index][1]))
        tops = bounds[index].upper.fractions()
        exponents = [-leading_exponent(top) if top > 0 else 0 for top in tops]
        scales.append(
            np.array([float(power(e + int(s))) for e, s in zip(exponents, steps, strict=True)])
        )
    return rescaled(plant, scales)


def _smooth(
    draw: Generator, body: SmoothLayers, inputs: int, classes: Classes, neurons: int
) -> Smooth:
    for fan_in in (inputs, neurons):
        bias = draw.integers(-32, 33, neurons) / 64
        body = body.then(float32_layer(2 * short_weights(draw, (neurons, fan_in)), bias))
    rows = short_weights(draw, (classes.count, neurons))
    rows[classes.target] = rows[classes.label]
    return Smooth(body, float32_layer(rows, np.zeros(classes.count)))
