"""The profiling sample: half of it uniform in the box, half biased to its boundary.

The paper asks for "a mixture of uniform and boundary-biased samples" and leaves it there. Ours: in
the biased half every coordinate lies on one of its two faces with probability one half. Points
are drawn in one stream, so a larger sample begins with the smaller one, and the stream depends on
nothing but the network, the boxes and the seed: not on names, order or processes.
"""

from __future__ import annotations

import hashlib

import numpy as np
import torch
from numpy.random import PCG64, Generator, SeedSequence
from torch import Tensor

from assay.difficulty.margin import MarginFunction


class Sampler:
    """Draws points of a question's boxes; every box gets points of both halves in turn."""

    def __init__(self, function: MarginFunction, seed: int) -> None:
        self._function = function
        self._lower, self._upper = function.lower.cpu().numpy(), function.upper.cpu().numpy()
        self._draw = self.stream(seed, "samples")
        self._count = 0

    def stream(self, seed: int, purpose: str) -> Generator:
        """Random numbers of their own for a purpose."""
        digest = hashlib.sha256(f"{seed}|{purpose}|".encode())
        for part in (self._function.network.onnx, self._lower.tobytes(), self._upper.tobytes()):
            digest.update(hashlib.sha256(part).digest())
        return Generator(PCG64(SeedSequence(list(digest.digest()))))

    def points(self, count: int) -> tuple[Tensor, Tensor]:
        """The next points [count, d] and the case of each."""
        boxes, inputs = self._lower.shape
        number = np.arange(self._count, self._count + count)
        self._count += count
        cases = number % boxes
        share = self._draw.random((count, inputs))
        biased = biased_to_boundary(number, boxes)
        # A quarter of the numbers falls below zero, a quarter above one: on the faces.
        share[biased] = np.clip(2 * share[biased] - 0.5, 0.0, 1.0)
        # Written so that a share of one gives the upper bound itself, and none lies outside.
        found = self._lower[cases] * (1 - share) + self._upper[cases] * share
        found = np.clip(found, self._lower[cases], self._upper[cases])
        device = self._function.lower.device
        return torch.from_numpy(found).to(device), torch.from_numpy(cases).to(device)


def biased_to_boundary(number: np.ndarray, boxes: int) -> np.ndarray:
    """Which points of the stream belong to the biased half."""
    return np.asarray((number // boxes) % 2 == 1)
