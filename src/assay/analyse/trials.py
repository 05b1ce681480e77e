"""Independent trials of a question: random inputs, one after another, and their margins."""

from __future__ import annotations

import torch
from torch import Tensor

from assay.analyse.asked import Asked


class Trials:
    """The trials of a question under a seed; what comes next does not depend on batches."""

    def __init__(self, asked: Asked, seed: int, purpose: str = "") -> None:
        self.asked = asked
        self._sampler = asked.sampler(seed, purpose)
        self.drawn = 0

    def scores(self, count: int) -> Tensor:
        """Scores [count, classes] of the next inputs."""
        model = self.asked.model
        parts, missing = [], count
        while missing > 0:
            rows = min(missing, max(model.rows, 1))
            parts.append(model.scores(self._sampler.take(rows)))
            missing -= rows
        self.drawn += count
        return parts[0] if len(parts) == 1 else torch.cat(parts)

    def margins(self, count: int) -> Tensor:
        """Margins [count] of the next inputs; at most zero where they fail."""
        return self.asked.margins_of(self.scores(count))
