"""Both objectives in plain numpy, the optimiser beside torch's, the rate."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tiny_training import tiny

from assay.truth.training.adam import Adam
from assay.truth.training.objectives import counterexample_loss, window_loss
from assay.truth.training.trainer import rate_at

NETWORKS, PLANTED, CLASSES, LENGTH = 2, 3, 4, 5


def cross_entropy(logits: np.ndarray, label: int) -> float:
    return float(np.log(np.exp(logits).sum()) - logits[label])


@pytest.fixture
def draw() -> np.random.Generator:
    return np.random.default_rng(0)


def test_the_counterexample_objective_is_equation_9(draw: np.random.Generator) -> None:
    logits = draw.normal(size=(NETWORKS, PLANTED, CLASSES))
    labels = draw.integers(CLASSES, size=(NETWORKS, PLANTED))
    targets = (labels + 1) % CLASSES
    margin = np.array([0.3, 0.0])
    found = counterexample_loss(
        torch.tensor(logits),
        torch.tensor(labels),
        torch.tensor(targets),
        torch.tensor(margin),
        torch.tensor([True, False]),
    )
    hinge = np.mean(
        [
            max(0.0, z[y] - z[t] + 0.3)
            for z, y, t in zip(logits[0], labels[0], targets[0], strict=True)
        ]
    )
    plain = np.mean([cross_entropy(z, t) for z, t in zip(logits[1], targets[1], strict=True)])
    assert found.numpy() == pytest.approx([hinge, plain])


def test_a_counterexample_wrong_by_the_margin_has_no_slope() -> None:
    logits = torch.tensor([[[0.0, 0.5]]], requires_grad=True)
    zero, one = torch.tensor([[0]]), torch.tensor([[1]])
    loss = counterexample_loss(logits, zero, one, torch.tensor([0.4]), torch.tensor([True]))
    (slope,) = torch.autograd.grad(loss.sum(), logits)
    assert loss.item() == 0
    assert not slope.any()


def test_the_window_objective_is_equation_10(draw: np.random.Generator) -> None:
    """Two networks: one whose window is full of five epochs, one that counts the last two."""
    examples = 2 * PLANTED
    logits = draw.normal(size=(NETWORKS, LENGTH * examples, CLASSES))
    labels = draw.integers(CLASSES, size=(NETWORKS, examples))
    counted = np.array([[1, 1, 1, 1, 1], [0, 0, 0, 1, 1]])
    expected = [
        np.mean(
            [
                cross_entropy(logits[m, epoch * examples + i], labels[m, i])
                for i in range(examples)
                for epoch in range(LENGTH)
                if counted[m, epoch]
            ]
        )
        for m in range(NETWORKS)
    ]
    shares = (counted / counted.sum(1, keepdims=True) / examples).repeat(examples, axis=1)
    found = window_loss(
        torch.tensor(logits), torch.tensor(labels).repeat(1, LENGTH), torch.tensor(shares)
    )
    assert found.numpy() == pytest.approx(expected)


@pytest.mark.parametrize("clip", [1e3, 0.5])
def test_the_optimiser_is_adam_with_a_clipped_gradient(clip: float) -> None:
    """A bank of two takes the steps of two optimisers of torch, each clipped by its own norm."""
    draw = torch.Generator().manual_seed(0)
    start = {"a": torch.rand(2, 3, generator=draw), "b": torch.rand(2, 2, 2, generator=draw)}
    bank = {name: value.clone() for name, value in start.items()}
    ours = Adam(bank, clip, torch.device("cpu"))
    singles = [{n: v[i].clone().requires_grad_() for n, v in start.items()} for i in range(2)]
    theirs = [torch.optim.Adam(single.values(), lr=0.0) for single in singles]
    for rate in (0.1, 0.2, 0.05):
        slopes = {n: torch.randn(v.shape, generator=draw) for n, v in start.items()}
        ours.rate.fill_(rate)
        ours.descend(slopes)
        for i, (single, optimiser) in enumerate(zip(singles, theirs, strict=True)):
            for name, value in single.items():
                value.grad = slopes[name][i].clone()
            torch.nn.utils.clip_grad_norm_(single.values(), clip)
            optimiser.param_groups[0]["lr"] = rate
            optimiser.step()
    for i, single in enumerate(singles):
        for name, value in single.items():
            assert torch.allclose(bank[name][i], value, atol=1e-6)


def test_the_rate_rises_to_its_peak_in_the_middle_and_falls_to_nothing() -> None:
    schedule = tiny(epochs=100, peak_rate=0.002)
    rates = [rate_at(schedule, epoch) for epoch in range(1, 101)]
    assert max(rates) == rates[49] == 0.002
    assert rates[-1] == 0
    assert rates[0] == pytest.approx(0.002 / 50)
    assert rates[:50] == sorted(rates[:50])
    assert rates[50:] == sorted(rates[50:], reverse=True)
    assert rates[24] == pytest.approx(rates[74]) == pytest.approx(0.001)
    assert rate_at(tiny(epochs=1), 1) == 0
