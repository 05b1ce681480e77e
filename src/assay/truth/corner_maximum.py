"""The exact maximum over a box of nonnegative sums of hinges relu(a_j x + b_j).

Such a sum is convex, so its maximum is at a corner. Every hinge looks at one window of
consecutive active coordinates; a dynamic programme along the coordinates, whose state is the
choice of ends at the last (window - 1) of them, finds the best corner. One window over all
active coordinates is plain enumeration. Everything is int64, and refused where that could
overflow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.errors import BadInput
from assay.truth.randomness import Integers

MOST_VALUES = 1 << 24
"""The largest number of hinges times corners of a window that is tabulated (64 MiB)."""


@dataclass(frozen=True)
class Hinges:
    """Hinge j is relu(slopes[j] · x[starts[j] : starts[j] + window] + offsets[j]), all integers."""

    slopes: Integers
    offsets: Integers
    starts: Integers

    @property
    def window(self) -> int:
        return int(self.slopes.shape[1])


def corner_maxima(
    hinges: Hinges, weights: Integers, lower: Integers, upper: Integers
) -> tuple[list[int], list[tuple[bool, ...]]]:
    """For every row k the maximum of weights[k] · hinges over the box, and a corner with it.

    A corner tells for every coordinate whether it is at its upper end.
    """
    _refuse_overflow(hinges, weights, lower, upper)
    width, classes = hinges.window, len(weights)
    corners = 1 << width
    # bit 0 of a corner's number is the window's last coordinate
    ends = (np.arange(corners)[:, None] >> np.arange(width - 1, -1, -1)) & 1
    states = np.zeros((classes, corners // 2), dtype=np.int64)
    choices: list[NDArray[np.bool_]] = []
    for start in range(len(lower) - width + 1):
        inside = slice(start, start + width)
        points = np.where(ends == 1, upper[inside], lower[inside])
        chosen = np.flatnonzero(hinges.starts == start)
        values = hinges.slopes[chosen] @ points.T + hinges.offsets[chosen, None]
        table = weights[:, chosen] @ np.maximum(values, 0)
        sums = (states[:, :, None] + table.reshape(classes, -1, 2)).reshape(classes, 2, -1)
        choices.append(sums[:, 1] > sums[:, 0])
        states = sums.max(axis=1)
    best = states.argmax(axis=1)
    maxima = [int(states[k, s]) for k, s in enumerate(best)]
    return maxima, [_backtrack(choices, k, int(s), width) for k, s in enumerate(best)]


def _backtrack(
    choices: Sequence[NDArray[np.bool_]], row: int, state: int, width: int
) -> tuple[bool, ...]:
    """Read the best ends from the last coordinates back to the first."""
    corner = [bool(state >> i & 1) for i in range(width - 1)]
    for choice in reversed(choices):
        first = bool(choice[row, state])
        corner.append(first)
        state = (state >> 1) | (int(first) << (width - 1) >> 1)
    return tuple(reversed(corner))


def _refuse_overflow(hinges: Hinges, weights: Integers, lower: Integers, upper: Integers) -> None:
    if len(hinges.slopes) << hinges.window > MOST_VALUES:
        raise BadInput(
            f"{len(hinges.slopes)} hinges on {hinges.window} coordinates have too many corners to "
            f"enumerate (2^{hinges.window} each); use fewer hinges or a smaller window"
        )
    reach = int(max(np.abs(lower).max(), np.abs(upper).max()))
    slope = int(np.abs(hinges.slopes).max(initial=0)) * hinges.window
    value = slope * reach + int(np.abs(hinges.offsets).max(initial=0))
    if value * int(weights.max(initial=0)) * len(hinges.slopes) >= 1 << 62:
        raise BadInput("the hinges need integers beyond 64 bits; use fewer hinges")
