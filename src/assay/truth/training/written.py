"""A trained network as ONNX: plain operators, normalisations multiplied into the next matrix."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from assay.question.graph import GraphBuilder
from assay.truth.training.architectures import (
    SIDE,
    Architecture,
    Chain,
    Conv,
    Dense,
    Pool,
    Transformer,
    input_shape,
)
from assay.truth.training.transformer_bank import LEAST_VARIANCE, TOKENS

Weights = Mapping[str, NDArray[np.float32]]
Doubles = NDArray[np.float64]


def network_bytes(architecture: Architecture, channels: int, weights: Weights) -> bytes:
    graph = GraphBuilder((1, *input_shape(architecture, channels)))
    if isinstance(architecture, Chain):
        return graph.build(_chain(graph, architecture, weights))
    return graph.build(_transformer(graph, architecture, channels, weights))


def _chain(graph: GraphBuilder, chain: Chain, weights: Weights) -> str:
    x, flat = graph.input, not chain.takes_images
    bent = {"relu": graph.relu, "tanh": graph.tanh, "sigmoid": graph.sigmoid}[chain.activation]
    classes = weights[f"bias{len(chain.layers)}"].shape[0]
    for position, layer in enumerate((*chain.layers, Dense(classes))):
        if isinstance(layer, Pool):
            pads = (1, 1, 1, 1)
            x = graph.average_pool(x, (3, 3), pads=pads, count_include_pad=True)
            continue
        weight, bias = weights[f"weight{position}"], weights[f"bias{position}"]
        if isinstance(layer, Conv):
            x = graph.conv(x, weight.reshape(*weight.shape[:2], 3, 3), bias, pads=(1, 1, 1, 1))
        else:
            x = x if flat else graph.flatten(x)
            flat = True
            x = graph.gemm(x, weight.T, bias)
        if position < len(chain.layers):
            x = bent(x)
    return x


def _transformer(
    graph: GraphBuilder, architecture: Transformer, channels: int, weights: Weights
) -> str:
    each, places = architecture.width // architecture.heads, SIDE * SIDE

    def normalised(norm: str, name: str) -> tuple[Doubles, Doubles]:
        """A matrix and biases that take in the normalisation before them."""
        given = {part: weights[f"{norm}.{part}"].astype(float) for part in _PARTS}
        factor = given["scale"] / np.sqrt(given["variance"] + LEAST_VARIANCE)
        offset = given["shift"] - given["mean"] * factor
        matrix = weights[f"{name}.weight"].astype(float)
        return factor[:, None] * matrix, weights[f"{name}.bias"] + offset @ matrix

    def affine(x: str, matrix: Doubles, bias: Doubles) -> str:
        product = graph.matmul(x, matrix.astype(np.float32))
        return graph.add(product, bias.astype(np.float32))

    pixels = graph.transpose(graph.reshape(graph.input, (channels, places)), (1, 0))
    tokens = graph.matmul(pixels, weights["embed.weight"])
    # Row 0 is the token of the class: nothing of the image.
    lowered = np.eye(TOKENS, places, -1, dtype=np.float32)
    start = weights["positions"].astype(float) + np.where(
        np.arange(TOKENS)[:, None] == 0, weights["class"], weights["embed.bias"]
    )
    x = graph.add(graph.matmul(lowered, tokens), start.astype(np.float32))
    for block in range(architecture.depth):
        parts = {
            part: normalised(f"{block}.attention", f"{block}.{part}")
            for part in ("query", "key", "value")
        }
        out = weights[f"{block}.out.weight"]
        total = ""
        for head in range(architecture.heads):
            own = slice(head * each, (head + 1) * each)
            shrunk = each**-0.5
            query = affine(x, parts["query"][0][:, own] * shrunk, parts["query"][1][own] * shrunk)
            key, value = (
                affine(x, parts[part][0][:, own], parts[part][1][own]) for part in ("key", "value")
            )
            shares = graph.softmax(graph.matmul(query, graph.transpose(key, (1, 0))))
            seen = graph.matmul(graph.matmul(shares, value), out[own])
            total = seen if head == 0 else graph.add(total, seen)
        x = graph.add(x, graph.add(total, weights[f"{block}.out.bias"]))
        risen = graph.relu(affine(x, *normalised(f"{block}.forward", f"{block}.rise")))
        fallen = affine(
            risen,
            weights[f"{block}.fall.weight"].astype(float),
            weights[f"{block}.fall.bias"].astype(float),
        )
        x = graph.add(x, fallen)
    matrix, bias = normalised("head", "read")
    summed = graph.matmul(np.ones((1, TOKENS), np.float32), x)
    return graph.gemm(summed, (matrix / TOKENS).astype(np.float32).T, bias.astype(np.float32))


_PARTS = ("scale", "shift", "mean", "variance")
