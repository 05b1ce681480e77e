"""Lines carried forward: as good as backward substitution behind one layer, and as sound."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import torch
from torch import Tensor

from assay.bounds.linear import LinearNetwork
from assay.question.graph import GraphBuilder, mlp
from assay.question.network import Network, load
from assay.question.operators.torch_module import TorchNetwork

INPUTS = 4


def layers(seed: int, sizes: tuple[int, ...]) -> list[tuple[np.ndarray, np.ndarray]]:
    draw = np.random.default_rng(seed)
    return [
        (draw.normal(size=(b, a)).astype(np.float32), draw.normal(size=b).astype(np.float32))
        for a, b in pairwise(sizes)
    ]


def plain(seed: int) -> Network:
    return load(mlp(layers(seed, (INPUTS, 10, 9, 8, 2))), "plain")


def branched(seed: int) -> Network:
    """Absolute values, a sum of two branches, an S-shape and a batch norm before the kinks."""
    (first, bias), (second, other), (third, last) = layers(seed, (INPUTS, 6, 6, 2))
    graph = GraphBuilder((1, INPUTS))
    hidden = graph.gemm(graph.input, first, bias)
    both = graph.add(graph.abs(hidden), graph.tanh(graph.mul(hidden, np.float32(0.5))))
    deeper = graph.relu(graph.gemm(both, second, other))
    return load(graph.build(graph.gemm(deeper, third, last)), "branched")


def boxes(seed: int, count: int, fixed: bool) -> tuple[Tensor, Tensor]:
    draw = torch.Generator().manual_seed(seed)
    centre = torch.rand(count, INPUTS, generator=draw, dtype=torch.float64) * 2 - 1
    radius = torch.rand(count, INPUTS, generator=draw, dtype=torch.float64) * 0.4
    if fixed:
        radius[:, 1] = 0
    return centre - radius, centre + radius


@pytest.mark.parametrize("make", [plain, branched])
@pytest.mark.parametrize("fixed", [False, True])
def test_ranges_hold_at_samples(make: object, fixed: bool) -> None:
    assert callable(make)
    network = make(3)
    engine = LinearNetwork(network)
    low, high = boxes(1, 40, fixed)
    moving = torch.tensor([0, 2, 3]) if fixed else torch.arange(INPUTS)
    box = engine.intervals.start(low, high)
    relaxed = engine.relaxed(box, moving=moving)
    place = torch.rand(200, 40, INPUTS, generator=torch.Generator().manual_seed(2)).double()
    points = (low + (high - low) * place).flatten(0, 1)
    view = TorchNetwork(network, torch.float64)
    outputs = view(points).reshape(200, 40, -1)
    ends = relaxed.values[network.output_name]
    assert bool((outputs >= ends.low.reshape(1, 40, -1) - 1e-12).all())
    assert bool((outputs <= ends.high.reshape(1, 40, -1) + 1e-12).all())
    inner = engine.intervals.start(points, points)
    exact = engine.intervals.propagate(inner)
    for name in set(engine.critical) & set(relaxed.carried):
        carried, found = relaxed.carried[name].range(), exact[name]
        shape = (200, 40, *carried.low.shape[1:])
        assert bool((carried.low <= found.high.reshape(shape)).all())
        assert bool((carried.high >= found.low.reshape(shape)).all())


@pytest.mark.parametrize("make", [plain, branched])
def test_behind_one_layer_they_are_what_backward_substitution_gives(make: object) -> None:
    assert callable(make)
    network = make(5)
    engine = LinearNetwork(network)
    box = engine.intervals.start(*boxes(4, 30, False))
    backward, forward = engine.relaxed(box), engine.relaxed(box, moving=torch.arange(INPUTS))
    names = [name for name in engine.critical if name in forward.carried]
    assert names
    for name in engine.critical:
        old, new = backward.values[name], forward.values[name]
        torch.testing.assert_close(old.low, new.low, rtol=1e-9, atol=1e-9)
        torch.testing.assert_close(old.high, new.high, rtol=1e-9, atol=1e-9)
