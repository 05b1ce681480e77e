"""How far a count goes, and how it is continued by sampling."""

from __future__ import annotations

import math
from dataclasses import dataclass

from assay.errors import BadInput

LEAST_MEMORY_MB = 64
_FOR_BATCHES = 0.25
"""The share of the memory in which batches are bounded; cells have the rest."""
_TENSORS = 24
"""Of the size of the largest that are alive while a batch is bounded, at most."""
_COPIES = 2.5
"""Of the cells, while those that were halved are replaced by their halves."""
_FOR_HALVING = 0.75
"""The share of the time for halving, if samples are wanted afterwards."""
_THREADS = 4
_MIB = 2**20
_MOST_NUMBERS = 2**21


@dataclass(frozen=True)
class Settings:
    """Stop at a gap of `gap`, after `seconds`, or with `most_cells` undecided parts in memory.

    `samples` points of the undecided part are drawn afterwards, for an interval that holds with
    probability `confidence`; `seed` is for them. The seconds are for both: the last quarter is kept
    for the samples, and there are fewer of them if it does not suffice. `memory_mb`, in units of
    2^20 bytes as everywhere in Assay, holds the cells and what bounding them takes, beside Python,
    torch and the network themselves.
    """

    gap: float = 1e-4
    seconds: float = 60.0
    most_cells: int = 4_000_000
    memory_mb: int = 2048
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
        if self.memory_mb < LEAST_MEMORY_MB:
            raise BadInput(
                f"{self.memory_mb} MiB are too little memory; allow {LEAST_MEMORY_MB} MiB "
                f"({LEAST_MEMORY_MB / 1024:g} GiB) or more"
            )
        if self.samples < 0:
            raise BadInput(f"{self.samples} samples cannot be drawn; give 0 or more")
        if not 0 < self.confidence < 1:
            raise BadInput(
                f"a confidence of {self.confidence:g} is not above 0 and below 1; try 0.999"
            )
        if self.seed < 0:
            raise BadInput(f"the seed {self.seed} is negative; give 0 or more")

    @property
    def halving_seconds(self) -> float:
        return self.seconds * (_FOR_HALVING if self.samples else 1.0)

    def cells_in_memory(self, bytes_each: int) -> int:
        """How many undecided cells there may be."""
        room = self.memory_mb * _MIB * (1 - _FOR_BATCHES)
        return max(1, min(self.most_cells, int(room / (_COPIES * bytes_each))))

    @property
    def numbers_at_once(self) -> int:
        """How many numbers the largest tensor of a batch may have.

        The same for any number of threads, so that results do not depend on it; there is room
        for four.
        """
        room = self.memory_mb * _MIB * _FOR_BATCHES / _THREADS
        return min(_MOST_NUMBERS, int(room / (8 * _TENSORS)))
