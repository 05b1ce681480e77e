"""The sliding window: which epochs count, and what becomes of it when networks drop out."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_training import CPU, state, trainer

from assay.truth.training.settings import Setting
from assay.truth.training.window import Window, shortened


def marked(epoch: int, networks: int) -> torch.Tensor:
    """Perturbations that say in which epoch they were made."""
    return torch.full((networks, 1, 1), float(epoch + 1))


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=4), st.integers(1, 30))
def test_only_the_last_epochs_of_each_window_count(lengths: list[int], epochs: int) -> None:
    window = Window(lengths, 1, 1, CPU)
    for epoch in range(epochs):
        window.put(epoch, marked(epoch, len(lengths)))
    for place, length in enumerate(lengths):
        shares, made_in = window.shares[place].numpy(), window.shifts[place, :, 0, 0].numpy() - 1
        counted = {int(epoch) for epoch, share in zip(made_in, shares, strict=True) if share}
        assert counted == set(range(max(epochs - length, 0), epochs))
        assert np.unique(shares[shares > 0]).size == 1
        assert abs(shares.sum() - 1) < 1e-6


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 8), st.integers(0, 4), st.integers(1, 25), st.integers(0, 10))
def test_a_shorter_ring_goes_on_as_if_it_had_always_been_short(
    length: int, more: int, epochs: int, further: int
) -> None:
    long, short = Window([length + more, length], 1, 1, CPU), Window([length], 1, 1, CPU)
    for epoch in range(epochs):
        long.put(epoch, marked(epoch, 2))
        short.put(epoch, marked(epoch, 1))
    taken = Window([length], 1, 1, CPU)
    taken.shifts.copy_(torch.from_numpy(shortened(long.shifts[1:].numpy(), length, epochs)))
    for epoch in range(epochs, epochs + 1 + further):
        taken.put(epoch, marked(epoch, 1))
        short.put(epoch, marked(epoch, 1))
    assert torch.equal(taken.shifts, short.shifts)
    assert torch.equal(taken.shares, short.shares)


def test_a_trainer_of_some_of_the_networks_goes_on_with_them() -> None:
    """The one with the longest window leaves, in the middle of the ring."""
    settings_ = (Setting(0, window=9), Setting(1, window=4), Setting(2, window=2))
    together = trainer(*settings_)
    for _ in range(11):
        together.advance()
    smaller = together.only([1, 2])
    assert (smaller.epoch, smaller.settings) == (11, settings_[1:])
    assert smaller.state()["window"].shape[1] == 4
    for _ in range(6):
        together.advance()
        smaller.advance()
    left, right = state(together), state(smaller)
    for name, value in right.items():
        if name.startswith("parameter"):
            assert np.allclose(value, left[name][1:], atol=1e-6), name
