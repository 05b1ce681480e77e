"""Images are flattened as if their channels came last."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from assay.judge.power.mutant import Mutant
from assay.judge.power.seams import misread
from assay.question.network import Network, Node


def _reordered(network: Network) -> Network:
    """Permuting the columns of the weight that follows is the same as flattening otherwise."""
    images = {
        node.outputs[0]: network.shapes[node.inputs[0]]
        for node in network.nodes
        if node.op_type in ("Flatten", "Reshape") and len(network.shapes[node.inputs[0]]) == 4
    }
    weights = dict(network.initializers)
    for node in network.nodes:
        # A weight that another node computes has no columns to permute.
        if node.op_type == "Gemm" and node.inputs[0] in images and node.inputs[1] in weights:
            weight = network.initializers[node.inputs[1]]
            weights[node.inputs[1]] = _columns(node, weight, images[node.inputs[0]])
    return replace(network, initializers=weights)


def _columns(node: Node, weight: np.ndarray, image: tuple[int, ...]) -> np.ndarray:
    _, channels, height, width = image
    axis = 1 if node.attributes.get("transB", 0) else 0
    if weight.shape[axis] != channels * height * width:
        return weight  # it was not flattened whole
    places = np.arange(weight.shape[axis]).reshape(height, width, channels)
    return weight.take(places.transpose(2, 0, 1).ravel(), axis)


MUTANT = Mutant(
    name="channels-last-flatten",
    bug="operator misread",
    story="Flatten after a convolution takes the channels for the last axis.",
    swaps=(misread(_reordered),),
    operators=frozenset({"Flatten", "Reshape"}),
)
