"""ReLU networks from a seed: random ones, and small ones trained on clusters."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from math import sqrt

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from assay.bounds.relu_network import ReluNetwork
from assay.question.floaterror import Layer

_CENTRE_STEPS = 256
_WEIGHT_STEPS = 1 << 16
Drawn = tuple[tuple[Layer, ...], tuple[Fraction, ...]]


def random_layers(draw: Generator, sizes: tuple[int, ...], centres: int) -> Drawn:
    """Uniform weights of He's variance, small biases, and a centre within [-1/4, 1/4].

    Of so many centres the one with the widest margin is taken: the radius, and with it the
    number of unstable units inside, grows with it.
    """
    layers = []
    for fan_in, units in pairwise(sizes):
        weight = _uniform(draw, (units, fan_in)) * sqrt(6 / fan_in)
        bias = _uniform(draw, (units,)) * 0.2
        layers.append((weight.astype(np.float32), bias.astype(np.float32)))
    quarter = _CENTRE_STEPS // 4
    numerators = draw.integers(-quarter, quarter, size=(centres, sizes[0]), endpoint=True)
    scores = ReluNetwork.of(layers).preactivations(numerators / _CENTRE_STEPS)[-1]
    ordered = np.sort(scores, axis=1)
    widest = int((ordered[:, -1] - ordered[:, -2]).argmax())
    return tuple(layers), tuple(Fraction(int(n), _CENTRE_STEPS) for n in numerators[widest])


def trained_layers(draw: Generator, sizes: tuple[int, ...], centres: int) -> Drawn:
    """A network that tells clusters apart, and a cluster's middle as the centre.

    Full-batch Adam on the cross-entropy in float64; one cluster a class, 64 points each.
    """
    layers, _ = random_layers(draw, sizes, centres)
    inputs, classes = sizes[0], sizes[-1]
    means = _uniform(draw, (classes, inputs)) * 0.25
    labels = np.repeat(np.arange(classes), 64)
    points = means[labels] + _uniform(draw, (len(labels), inputs)) * 0.25
    values = [array.astype(np.float64) for layer in layers for array in layer]
    first = [np.zeros_like(v) for v in values]
    second = [np.zeros_like(v) for v in values]
    for step in range(1, 201):
        slopes = _gradients(values, points, labels)
        for value, slope, a, b in zip(values, slopes, first, second, strict=True):
            a += 0.1 * (slope - a)
            b += 0.001 * (slope * slope - b)
            value -= 0.01 * (a / (1 - 0.9**step)) / (np.sqrt(b / (1 - 0.999**step)) + 1e-8)
    kept = tuple(
        (values[i].astype(np.float32), values[i + 1].astype(np.float32))
        for i in range(0, len(values), 2)
    )
    chosen = means[int(draw.integers(classes))]
    return kept, tuple(Fraction(round(v * _CENTRE_STEPS), _CENTRE_STEPS) for v in chosen.tolist())


def _uniform(draw: Generator, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Uniform numbers in [-1, 1] made from integers, the same on every platform."""
    steps = draw.integers(-_WEIGHT_STEPS, _WEIGHT_STEPS, size=shape, endpoint=True)
    return np.asarray(steps / _WEIGHT_STEPS, dtype=np.float64)


def _gradients(
    values: list[NDArray[np.float64]], points: NDArray[np.float64], labels: NDArray[np.int64]
) -> list[NDArray[np.float64]]:
    """The gradient of the mean cross-entropy for each weight and bias, in their order."""
    inputs = [points]
    for i in range(0, len(values) - 2, 2):
        inputs.append(np.maximum(inputs[-1] @ values[i].T + values[i + 1], 0))
    scores = inputs[-1] @ values[-2].T + values[-1]
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))
    error = odds / odds.sum(axis=1, keepdims=True)
    error[np.arange(len(labels)), labels] -= 1
    error /= len(labels)
    slopes: list[NDArray[np.float64]] = []
    for i in range(len(values) - 2, -1, -2):
        before = inputs[i // 2]
        slopes = [error.T @ before, error.sum(axis=0), *slopes]
        error = (error @ values[i]) * (before > 0)
    return slopes
