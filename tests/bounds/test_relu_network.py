from __future__ import annotations

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from small_networks import box, drawn

from assay.bounds.relu_network import ReluNetwork
from assay.question.graph import mlp
from assay.question.network import load
from assay.question.torch_view import torch_view
from assay.truth.assemble import mlp_outputs

SIZES = st.lists(st.integers(1, 7), min_size=2, max_size=4)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), sizes=SIZES, radius=st.sampled_from([0.0, 0.01, 0.3, 2.0]))
def test_interval_bounds_contain_every_sample(seed: int, sizes: list[int], radius: float) -> None:
    subject = drawn(seed, (*sizes, 2))
    network, region = subject.network(), box(subject, radius)
    bounds = network.interval_bounds(*region)
    draw = np.random.default_rng(seed)
    inside = draw.uniform(*region, size=(200, sizes[0]))
    corners = np.where(draw.integers(0, 2, inside.shape) == 1, *region)
    values = network.preactivations(np.vstack([inside, corners]))
    assert len(bounds) == len(network.hidden) == len(values) - 1
    for (low, high), value in zip(bounds, values, strict=False):
        slack = 1e-12 * (1 + np.abs(value))
        assert (low <= value + slack).all()
        assert (value <= high + slack).all()


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), sizes=SIZES)
def test_interval_bounds_of_the_first_layer_are_attained(seed: int, sizes: list[int]) -> None:
    subject = drawn(seed, (*sizes, 2))
    network, (lower, upper) = subject.network(), box(subject, 0.25)
    weight = network.weights[0]
    for unit, (low, high) in enumerate(zip(*network.interval_bounds(lower, upper)[0], strict=True)):
        ends = np.array(
            [np.where(weight[unit] > 0, lower, upper), np.where(weight[unit] > 0, upper, lower)]
        )
        found = network.preactivations(ends)[0][:, unit]
        np.testing.assert_allclose(found, [low, high], atol=1e-12)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), sizes=SIZES, classes=st.integers(2, 4))
def test_margins_and_gradients_are_those_of_torch(
    seed: int, sizes: list[int], classes: int
) -> None:
    subject = drawn(seed, (*sizes, classes))
    network, label = subject.network(), subject.label
    points = np.random.default_rng(seed).uniform(-1, 1, (20, sizes[0]))
    margins, gradients = network.margin_gradients(points, label)
    np.testing.assert_array_equal(margins, network.margins(points, label))
    inputs = torch.tensor(points, requires_grad=True)
    outputs = torch_view(load(mlp(subject.layers), "net"), torch.float64)(inputs)
    rivals = torch.cat([outputs[:, :label], outputs[:, label + 1 :]], dim=1)
    expected = outputs[:, label] - rivals.max(dim=1).values
    (slopes,) = torch.autograd.grad(expected.sum(), inputs)
    np.testing.assert_allclose(margins, expected.detach().numpy(), atol=1e-12)
    np.testing.assert_allclose(gradients, slopes.numpy(), atol=1e-12)


def test_the_float64_network_is_the_float32_file() -> None:
    subject = drawn(3, (4, 5, 6, 3))
    network = ReluNetwork.of(subject.layers)
    found = network.preactivations(subject.floats()[None])[-1][0]
    exact = [float(v) for v in mlp_outputs(subject.layers, subject.centre)]
    np.testing.assert_allclose(found, exact, rtol=1e-14, atol=1e-15)
    assert network.hidden == (5, 6)
