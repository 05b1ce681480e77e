"""A stopping rule as two integer boundaries, and the sample counts at which it looks at them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]

# Up to here every sample is looked at, then every second up to twice as many, and so on: a rule
# stops at most 0.05 % later, and is known by a few thousand numbers whatever its length.
EVERY_SAMPLE = 4096
# No number of failures reaches it.
NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True, eq=False)
class Boundaries:
    """After at[i] samples: robust with accept_at[i] failures or fewer, not robust with reject_at[i]
    or more; -1 and NEVER where that cannot be said.

    Where both would hold, which happens just before a rule ends, it says "not robust".
    """

    at: Counts
    accept_at: Counts
    reject_at: Counts

    def part(self, after: int, upto: int) -> Boundaries:
        """The looks in (after, upto]."""
        start, stop = np.searchsorted(self.at, [after, upto], side="right")
        chosen = slice(start, stop)
        return Boundaries(self.at[chosen], self.accept_at[chosen], self.reject_at[chosen])


# The looks in (after, upto] and the boundaries there.
Between = Callable[[int, int], Boundaries]


def joined(pieces: Sequence[Boundaries]) -> Boundaries:
    if len(pieces) == 1:
        return pieces[0]
    nothing = np.empty(0, np.int64)
    return Boundaries(
        np.concatenate([nothing, *(piece.at for piece in pieces)]),
        np.concatenate([nothing, *(piece.accept_at for piece in pieces)]),
        np.concatenate([nothing, *(piece.reject_at for piece in pieces)]),
    )


def looks(after: int, upto: int) -> Counts:
    """The sample counts in (after, upto] at which a rule of many samples looks."""
    found = [np.empty(0, np.int64)]
    for first, last, step in spans():
        if first >= upto:
            break
        start = (max(first, after) // step + 1) * step
        found.append(np.arange(start, min(last, upto) + 1, step, dtype=np.int64))
    return np.concatenate(found)


def spans() -> Iterator[tuple[int, int, int]]:
    """The spans (first, last] inside which looks are `step` samples apart, without end."""
    first, last, step = 0, EVERY_SAMPLE, 1
    while True:
        yield first, last, step
        first, last, step = last, 2 * last, 2 * step
