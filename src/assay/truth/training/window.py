"""The sliding window of Eq. 10: the perturbations that the attacks of the latest epochs made."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor


class Window:
    """A ring of epochs, as long as the longest window of the networks; the others count a part.

    Tensors are changed in place, so that a CUDA graph reads the new values.
    """

    def __init__(
        self, lengths: Sequence[int], examples: int, inputs: int, device: torch.device
    ) -> None:
        self._lengths, self.length = lengths, max(lengths)
        size = (len(lengths), self.length)
        self.shifts = torch.zeros(*size, examples, inputs, device=device)
        """From the centres."""
        self.shares = torch.full(size, 1 / self.length, device=device)
        """How much the perturbations of an epoch count; one in all for every network."""

    def put(self, epoch: int, shifts: Tensor) -> None:
        """Keep the shifts of `epoch`, [networks, examples, inputs], and let old ones go."""
        slot = epoch % self.length
        self.shifts[:, slot] = shifts
        ages = (slot - np.arange(self.length)) % self.length
        shares = np.zeros((len(self._lengths), self.length), np.float32)
        for row, length in zip(shares, self._lengths, strict=True):
            row[ages < min(length, epoch + 1)] = 1
            row /= row.sum()
        self.shares.copy_(torch.from_numpy(shares))


def shortened(ring: np.ndarray, length: int, epochs: int) -> np.ndarray:
    """The latest perturbations of a ring after `epochs` epochs, at the slots of a shorter ring."""
    if length == ring.shape[1]:
        return ring
    shorter = np.zeros((len(ring), length, *ring.shape[2:]), ring.dtype)
    for epoch in range(max(epochs - length, 0), epochs):
        shorter[:, epoch % length] = ring[:, epoch % ring.shape[1]]
    return shorter
