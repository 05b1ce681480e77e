"""What comes before a plant: layers that hand the inputs on, in other coordinates.

A plant is made for the inputs x. Behind a front it reads features f instead, with
x = back · f + shift on the whole box, so its first weights are multiplied by `back`. The ReLU after
every layer of a front leaves what the plant reads alone, because that is never negative.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.random import Generator

from assay.question.convolution import ConvLayer
from assay.question.floaterror import AnyLayer, Layer
from assay.question.graph import GraphBuilder
from assay.question.region import Box
from assay.truth.assemble import mlp_outputs
from assay.truth.cnn_design import convolution, gain_exponent
from assay.truth.planting.matrices import HIGHEST_WEIGHT, Matrix, float32_layer, hadamard_blocks
from assay.truth.randomness import signed

Stem = Literal["none", "pool", "padded_pool", "counted_pool", "matmul", "gemm", "sigmoid", "tanh"]
POOLS = ("pool", "padded_pool", "counted_pool")
CURVED = ("sigmoid", "tanh")
_WINDOW = 2


@dataclass(frozen=True)
class Front:
    """`maps` are its layers, with a ReLU after each; none where a curve makes the features."""

    shape: tuple[int, ...]
    maps: tuple[AnyLayer, ...]
    write: Callable[[GraphBuilder], str]
    """Adds the layers to a graph and returns the features."""
    back: Matrix
    shift: Matrix
    domain: Box
    """Where what the plant reads lies."""
    at_middle: tuple[Fraction, ...]
    """The features of the centre of the box, or numbers near them."""
    bent: bool = False
    """Whether a smooth curve makes the features."""

    def read(self, weight: Matrix, bias: Matrix) -> tuple[Matrix, Matrix]:
        """A layer over the inputs as one over the features."""
        return weight @ self.back, bias + weight @ self.shift


def plain_front(box: Box) -> Front:
    count = len(box.lower)
    one = np.eye(count), np.zeros(count)
    return Front((count,), (), lambda graph: graph.input, *one, box, middle(box))


def middle(box: Box) -> tuple[Fraction, ...]:
    return tuple((low + high) / 2 for low, high in zip(box.lower, box.upper, strict=True))


@dataclass(frozen=True)
class Handing:
    """Convolutions of which one channel, `seat`, hands the image on: (x + 1) / scale."""

    layers: tuple[ConvLayer, ...]
    seat: int
    scale: float


def convolutional_front(
    draw: Generator, box: Box, stem: Stem, convolutions: int, channels: int
) -> Front:
    """Convolutions with a channel that hands the image on, and an average pool if asked for."""
    handing = _handing(draw, len(box.lower), convolutions, channels)
    if stem not in POOLS:
        return _front(box, handing, handing.layers, None)
    if stem == "pool":
        # room for windows that overlap without padding
        last = replace(handing.layers[-1], pads=(2, 2, 1, 1))
        handing = replace(handing, layers=(*handing.layers[:-1], last))
    pool = _pool(handing.layers[-1].output, padded=stem != "pool", counted=stem == "counted_pool")
    averages: AnyLayer = float32_layer(pool.matrix, np.zeros(len(pool.matrix)))
    maps: tuple[AnyLayer, ...] = (*handing.layers, averages)
    return _front(box, handing, maps, pool)


@dataclass(frozen=True)
class Pool:
    """An AveragePool of windows of 2 by 2 that move by 1; `plane` is its matrix for a channel."""

    plane: Matrix
    matrix: Matrix
    write: Callable[[GraphBuilder, str], str]


def _pool(image: tuple[int, int, int], *, padded: bool, counted: bool) -> Pool:
    channels, height, width = image
    pads = (1, 1, 0, 0) if padded else (0, 0, 0, 0)
    ones = ConvLayer(
        np.ones((1, 1, _WINDOW, _WINDOW), np.float32),
        np.zeros(1, np.float32),
        (1, height, width),
        pads=pads,
    )
    plane = ones.dense()[0].astype(np.float64)
    sizes = plane.sum(axis=1, keepdims=True)
    plane /= _WINDOW * _WINDOW if counted else sizes
    return Pool(
        plane,
        np.kron(np.eye(channels), plane).astype(np.float64),
        lambda graph, x: graph.average_pool(
            x, (_WINDOW, _WINDOW), pads=pads, count_include_pad=counted
        ),
    )


def _front(box: Box, handing: Handing, maps: tuple[AnyLayer, ...], pool: Pool | None) -> Front:
    first, last = handing.layers[0], handing.layers[-1]
    count = len(box.lower)
    plane = np.eye(count)
    known = np.zeros(count)
    if pool is not None:
        plane, known = _without_border(pool.plane, last, float(last.bias[handing.seat]))
    seats = len(plane)
    back = np.zeros((count, len(last.kernel) * seats))
    # windows reach up and to the left only: the inverse is one of short integers
    back[:, handing.seat * seats : (handing.seat + 1) * seats] = handing.scale * _inverse(plane)
    shift = -1 - handing.scale * _inverse(plane) @ known

    def write(graph: GraphBuilder) -> str:
        x = graph.input
        for layer in handing.layers:
            x = graph.relu(
                graph.conv(x, layer.kernel, layer.bias, strides=layer.strides, pads=layer.pads)
            )
        return graph.flatten(x if pool is None else graph.relu(pool.write(graph, x)))

    return Front(first.image, maps, write, back, shift, box, _features(maps, middle(box)))


def _without_border(plane: Matrix, last: ConvLayer, border: float) -> tuple[Matrix, Matrix]:
    """A pool's matrix for the image alone, and what the border around it, if any, adds."""
    high, wide = last.image[1:]
    _, height, width = last.output
    inside = np.zeros((height, width), bool)
    inside[height - high :, width - wide :] = True
    rest = np.where(inside, 0.0, max(border, 0.0)).ravel()
    return plane[:, inside.ravel()], plane @ rest


def _inverse(triangular: Matrix) -> Matrix:
    """Of a lower triangular matrix of short dyadic numbers whose inverse has such, too."""
    found = np.zeros_like(triangular)
    for i, row in enumerate(triangular):
        found[i] = (np.eye(len(triangular))[i] - row[:i] @ found[:i]) / row[i]
    return found


def _handing(draw: Generator, inputs: int, convolutions: int, channels: int) -> Handing:
    height = max(h for h in range(1, inputs + 1) if inputs % h == 0 and h * h <= inputs)
    image, scale = (1, height, inputs // height), 1.0
    layers: list[ConvLayer] = []
    seat = 0
    for number in range(convolutions):
        exponent = gain_exponent(image[0] * 9, HIGHEST_WEIGHT)
        filters = signed(draw, HIGHEST_WEIGHT, (channels + 1, image[0], 3, 3))
        step = int(draw.integers(0, 2))
        before, seat = seat, int(draw.integers(channels + 1))
        filters[seat] = 0
        filters[seat, before, 1, 1] = 1 << (step - exponent)
        bias = [Fraction(int(b), 16) for b in draw.integers(-8, 9, channels + 1)]
        bias[seat] = Fraction(1 << step if number == 0 else 0)
        layers.append(convolution(filters, exponent, image, bias=bias))
        image, scale = layers[-1].output, scale / (1 << step)
    return Handing(tuple(layers), seat, scale)


def mixing_front(draw: Generator, box: Box, stem: Stem) -> Front:
    """A square matrix with orthogonal rows, and a bias that keeps what it makes positive."""
    count = len(box.lower)
    blocks = hadamard_blocks(count).astype(np.float64)
    signs = draw.integers(0, 2, (2, count)) * 2.0 - 1
    mixed = signs[0][:, None] * blocks[draw.permutation(count)][:, draw.permutation(count)]
    mixed = mixed * signs[1]
    # powers of two: the square of a row's length is its number of entries
    entries = (mixed != 0).sum(axis=1)
    scales = np.ldexp(1.0, [-(int(n).bit_length() // 2) for n in entries])
    weight = mixed * scales[:, None]
    bias = np.abs(weight).sum(axis=1) + draw.integers(0, 9, count) / 16
    back = mixed.T / (entries * scales)
    layer = float32_layer(weight, bias)

    def write(graph: GraphBuilder) -> str:
        if stem == "gemm":
            return graph.relu(graph.gemm(graph.input, *layer))
        return graph.relu(graph.add(graph.matmul(graph.input, layer[0].T), layer[1]))

    at_middle = _features((layer,), middle(box))
    return Front((count,), (layer,), write, back, -back @ bias, box, at_middle)


def _features(maps: Sequence[AnyLayer | Layer], point: Sequence[Fraction]) -> tuple[Fraction, ...]:
    return tuple(max(value, Fraction(0)) for value in mlp_outputs(maps, point))
