"""Independent trials of a question: random inputs, one after another, and their margins."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from assay.analyse.asked import Asked


class Trials:
    """The trials of a question under a seed; what comes next does not depend on batches."""

    def __init__(self, asked: Asked, seed: int, purpose: str = "") -> None:
        self.asked = asked
        self._sampler = asked.sampler(seed, purpose)
        self.drawn = 0

    @property
    def rows(self) -> int:
        """How many inputs the model takes at once."""
        return self.asked.model.rows

    @property
    def seconds(self) -> float:
        """Time spent in the model, by whomever."""
        return self.asked.model.seconds

    def failed(self, count: int) -> NDArray[np.bool_]:
        """Which of the next inputs fail."""
        found: NDArray[np.bool_] = (self.margins(count) <= 0).cpu().numpy()
        return found

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
