"""The small convolutional network of section 8.2, in torch and as an ONNX file."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from torch import nn

from assay.analyse.preprocessing import Preprocessing
from assay.errors import BadInput
from assay.question.graph import GraphBuilder

POOLED, STRIDED = "pooled", "strided"
SHAPE = (1, 28, 28)
_CHANNELS, _KERNEL, _HIDDEN, _CLASSES = (1, 16, 32), 5, 256, 10
_SIDES = 4 * 4


def small_network(downsampling: str) -> nn.Sequential:
    """Two convolutions and two dense layers for 28 x 28 images.

    Where it is not `pooled` the convolutions take steps of two instead of the maximum over 2 x 2,
    so that every layer keeps its size.
    """
    if downsampling not in (POOLED, STRIDED):
        raise BadInput(f"downsampling {downsampling!r}: unknown; choose {POOLED} or {STRIDED}")
    pooled = downsampling == POOLED
    layers: list[nn.Module] = []
    for inside, outside in pairwise(_CHANNELS):
        layers += [nn.Conv2d(inside, outside, _KERNEL, stride=1 if pooled else 2), nn.ReLU()]
        layers += [nn.MaxPool2d(2)] if pooled else []
    layers += [nn.Flatten(), nn.Linear(_CHANNELS[-1] * _SIDES, _HIDDEN), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(_HIDDEN, _CLASSES))


def onnx_bytes(network: nn.Sequential, preprocessing: Preprocessing) -> bytes:
    """The network as an ONNX file that takes the pixels 0 to 255 of one image."""
    graph = GraphBuilder((1, *SHAPE))
    x = graph.input
    if preprocessing != Preprocessing():
        (factor,), (shift,) = preprocessing.linear(SHAPE, "the network")
        x = graph.add(graph.mul(x, np.array(factor, np.float32)), np.array(shift, np.float32))
    for layer in network:
        x = _added(graph, x, layer)
    return graph.build(x)


def _added(graph: GraphBuilder, x: str, layer: nn.Module) -> str:
    if isinstance(layer, nn.Conv2d):
        return graph.conv(x, *_affine(layer), strides=[int(step) for step in layer.stride])
    if isinstance(layer, nn.Linear):
        return graph.gemm(x, *_affine(layer))
    if isinstance(layer, nn.MaxPool2d):
        return graph.max_pool(x, (2, 2), strides=(2, 2))
    return graph.relu(x) if isinstance(layer, nn.ReLU) else graph.flatten(x)


def _affine(layer: nn.Conv2d | nn.Linear) -> tuple[np.ndarray, np.ndarray]:
    assert layer.bias is not None
    return layer.weight.detach().cpu().numpy(), layer.bias.detach().cpu().numpy()
