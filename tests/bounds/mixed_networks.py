"""Networks that mix the operators the families use, and the float64 values of all their tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from assay.question.graph import GraphBuilder, mlp
from assay.question.network import Network, load
from assay.question.operators.call import Call, walk
from assay.question.operators.torch_module import TORCH_OPERATORS


def drawn(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Weights of about unit gain."""
    fan_in = max(1, int(np.prod(shape[1:])))
    scaled: np.ndarray = rng.normal(size=shape) / np.sqrt(fan_in)
    return scaled.astype(np.float32)


def relu_mlp(seed: int, sizes: Sequence[int] = (6, 10, 8, 4)) -> Network:
    rng = np.random.default_rng(seed)
    layers = [(drawn(rng, n, m), drawn(rng, n)) for m, n in pairwise(sizes)]
    return load(mlp(layers), f"mlp-{seed}")


def smooth_mlp(seed: int) -> Network:
    rng = np.random.default_rng(seed)
    graph = GraphBuilder((1, 5))
    x = graph.sigmoid(graph.gemm(graph.input, 3 * drawn(rng, 8, 5), drawn(rng, 8)))
    x = graph.tanh(graph.gemm(x, 3 * drawn(rng, 7, 8), drawn(rng, 7)))
    x = graph.leaky_relu(graph.gemm(x, drawn(rng, 6, 7), drawn(rng, 6)), 0.125)
    return load(graph.build(graph.gemm(x, drawn(rng, 3, 6), drawn(rng, 3))), f"smooth-{seed}")


def residual_cnn(seed: int) -> Network:
    rng = np.random.default_rng(seed)
    graph = GraphBuilder((1, 2, 6, 6))
    x = graph.conv(graph.input, drawn(rng, 3, 2, 3, 3), drawn(rng, 3), pads=(1, 1, 1, 1))
    variance = np.abs(drawn(rng, 3)) + np.float32(0.5)
    shift = np.abs(drawn(rng, 3)) + np.float32(0.5)
    x = graph.batch_norm(x, drawn(rng, 3), shift, drawn(rng, 3), variance)
    inner = graph.conv(graph.relu(x), drawn(rng, 3, 3, 3, 3), pads=(1, 1, 1, 1))
    x = graph.relu(graph.add(x, inner))
    pooled = graph.flatten(graph.average_pool(x, (2, 2), strides=(2, 2)))
    highest = graph.flatten(graph.max_pool(x, (3, 3), strides=(3, 3)))
    joined = graph.concat([pooled, highest], 1)
    size = graph.shape(joined)[1]
    return load(graph.build(graph.gemm(joined, drawn(rng, 4, size), drawn(rng, 4))), f"cnn-{seed}")


def attention(seed: int) -> Network:
    rng = np.random.default_rng(seed)
    graph = GraphBuilder((1, 4, 6))
    query, key, value = (graph.matmul(graph.input, drawn(rng, 6, 6)) for _ in range(3))
    scores = graph.matmul(query, graph.transpose(key, (0, 2, 1)))
    mixed = graph.matmul(graph.softmax(graph.mul(scores, 0.5)), value)
    x = graph.add(graph.input, mixed)
    centred = graph.sub(x, graph.reduce_mean(x, [2]))
    spread = graph.add(graph.reduce_mean(graph.mul(centred, centred), [2]), 0.125)
    x = graph.div(centred, graph.sqrt(spread))
    x = graph.reduce_mean(x, [1], keepdims=False)
    return load(graph.build(graph.gemm(x, drawn(rng, 3, 6))), f"attention-{seed}")


def polynomial(seed: int) -> Network:
    rng = np.random.default_rng(seed)
    graph = GraphBuilder((1, 5))
    x = graph.gemm(graph.input, drawn(rng, 6, 5), drawn(rng, 6))
    cubes = graph.mul(graph.pow(x, 3.0), drawn(rng, 1, 6))
    x = graph.concat([cubes, graph.mul(x, x), graph.exp(graph.neg(graph.abs(x)))], 1)
    x = graph.clip(x, -2.0, 3.0)
    return load(graph.build(graph.gemm(x, drawn(rng, 3, 18), drawn(rng, 3))), f"poly-{seed}")


MIXED: tuple[Callable[[int], Network], ...] = (
    relu_mlp,
    smooth_mlp,
    residual_cnn,
    attention,
    polynomial,
)


def tensor_values(network: Network, points: Tensor) -> dict[str, Tensor]:
    """Every tensor at float64 points [N, inputs], as torch computes it."""
    found: dict[str, Tensor] = {}

    def record(call: Call[Tensor], results: Sequence[Tensor]) -> None:
        for name, result in zip(call.node.outputs, results, strict=False):
            found[name] = result.expand(len(points), *result.shape[1:])

    constants = {
        name: torch.tensor(array, dtype=torch.float64).unsqueeze(0)
        for name, array in network.initializers.items()
        if array.dtype == np.float32
    }
    walk(network, TORCH_OPERATORS, constants, points.reshape(-1, *network.input_shape), record)
    return found


def random_boxes(network: Network, count: int, seed: int) -> tuple[Tensor, Tensor]:
    """Boxes of very different widths, a point among them."""
    draw = torch.Generator().manual_seed(seed)
    size = (count, network.inputs)
    centre = 2 * torch.rand(size, generator=draw, dtype=torch.float64) - 1
    width = 10.0 ** -torch.arange(count, dtype=torch.float64).unsqueeze(1)
    width[-1] = 0.0
    return centre - width, centre + width


def inside(lower: Tensor, upper: Tensor, count: int, seed: int) -> Tensor:
    """[B, count, inputs] points of boxes, some of them corners."""
    draw = torch.Generator().manual_seed(seed)
    share = torch.rand(len(lower), count, lower.shape[1], generator=draw, dtype=torch.float64)
    share[:, ::3] = share[:, ::3].round()
    points = lower.unsqueeze(1) * (1 - share) + upper.unsqueeze(1) * share
    return torch.minimum(torch.maximum(points, lower.unsqueeze(1)), upper.unsqueeze(1))
