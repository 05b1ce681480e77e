"""Batches of tensors as rows of numbers."""

from __future__ import annotations

import math

from torch import Tensor


def as_rows(x: Tensor, leading: int = 1) -> Tensor:
    """All axes after the leading ones as one, also where a single number has none."""
    return x.reshape(*x.shape[:leading], math.prod(x.shape[leading:]))
