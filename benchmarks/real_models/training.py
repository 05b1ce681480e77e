"""Training a classifier of images by Adam on the cross entropy, seeded."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional

from assay.analyse.preprocessing import Preprocessing
from real_models.datasets import LabelledImages
from real_models.preparing import prepared

BATCH = 128


@dataclass(frozen=True)
class Schedule:
    """Passes over the data; the learning rate is multiplied by `decay` after each."""

    epochs: int
    rate: float
    decay: float


def train(
    network: nn.Module,
    preprocessing: Preprocessing,
    images: LabelledImages,
    schedule: Schedule,
    *,
    seed: int,
    device: str,
) -> None:
    """Train in place; the order of the images depends on the seed only."""
    network.to(device).train()
    inputs = prepared(torch.as_tensor(images.pixels, device=device), preprocessing)
    labels = torch.as_tensor(images.labels, device=device)
    optimizer = torch.optim.Adam(network.parameters(), schedule.rate)
    decay = torch.optim.lr_scheduler.ExponentialLR(optimizer, schedule.decay)
    shuffling = torch.Generator().manual_seed(seed)
    with _one_thread():
        for _ in range(schedule.epochs):
            order = torch.randperm(len(labels), generator=shuffling).to(device)
            for start in range(0, len(order), BATCH):
                batch = order[start : start + BATCH]
                loss = functional.cross_entropy(network(inputs[batch]), labels[batch])
                optimizer.zero_grad()
                torch.autograd.backward(loss)
                optimizer.step()
            decay.step()
    network.eval()


@contextmanager
def _one_thread() -> Iterator[None]:
    """Sums of floats depend on how threads cut them, so that trained weights would too."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
