"""How far a count goes, and how it is continued by sampling."""

from __future__ import annotations

import math
from dataclasses import dataclass

from assay.errors import BadInput


@dataclass(frozen=True)
class Settings:
    """Stop at a gap of `gap`, after `seconds`, or with `most_cells` undecided parts in memory.

    `samples` points of the undecided part are drawn afterwards, for an interval that holds with
    probability `confidence`; `seed` is for them.
    """

    gap: float = 1e-4
    seconds: float = 60.0
    most_cells: int = 2_000_000
    samples: int = 0
    confidence: float = 0.999
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.gap < 1:
            raise BadInput(f"a gap of {self.gap:g} is not from 0 up to below 1; try 1e-4")
        if not (self.seconds > 0 and not math.isnan(self.seconds)):
            raise BadInput(f"a time of {self.seconds:g} seconds is not above 0; try 60")
        if self.most_cells < 1:
            raise BadInput(f"{self.most_cells} cells cannot hold a box; allow 1 or more")
        if self.samples < 0:
            raise BadInput(f"{self.samples} samples cannot be drawn; give 0 or more")
        if not 0 < self.confidence < 1:
            raise BadInput(
                f"a confidence of {self.confidence:g} is not above 0 and below 1; try 0.999"
            )
        if self.seed < 0:
            raise BadInput(f"the seed {self.seed} is negative; give 0 or more")
