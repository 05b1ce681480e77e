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
        if node.op_type == "Gemm" and node.inputs[0] in images:
            weights[node.inputs[1]] = _columns(node, weights[node.inputs[1]], images)
    return replace(network, initializers=weights)


def _columns(node: Node, weight: np.ndarray, images: dict[str, tuple[int, ...]]) -> np.ndarray:
    _, channels, height, width = images[node.inputs[0]]
    count = channels * height * width
    places = np.arange(count).reshape(height, width, channels).transpose(2, 0, 1).ravel()
    return weight[:, places] if node.attributes.get("transB", 0) else weight[places]


MUTANT = Mutant(
    name="channels-last-flatten",
    bug="operator misread",
    story="Flatten after a convolution takes the channels for the last axis.",
    swaps=(misread(_reordered),),
    operators=frozenset({"Flatten", "Reshape"}),
)
