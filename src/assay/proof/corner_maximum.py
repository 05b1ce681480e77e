"""The exact maximum over a box of nonnegative sums of hinges relu(a_j · x + b_j).

Such a sum is convex, so its maximum over a box is at a corner. When every hinge looks at a
short window of consecutive active coordinates, a dynamic programme over the coordinates finds
the best corner exactly: its state is the choice of end at the last (window - 1) coordinates.
With one window over all active coordinates it is plain enumeration of the corners.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from flint import fmpz_mat

from assay.proof.arithmetic import Unsupported, entries
from assay.proof.chain import Affine
from assay.proof.interval import Interval

_MOST_VALUES = 1 << 24


@dataclass(frozen=True)
class _Window:
    """The hinges that start at one active coordinate: their positions and supports."""

    start: int
    hinges: list[int]


def corner_maxima(
    layer: Affine, hinges: list[int], weights: list[list[int]], box: Interval
) -> list[Fraction]:
    """max over the box of sum_j weights[k][j] relu(hinge j) for every row k; weights >= 0."""
    rows = [layer.rows[j] for j in hinges]
    ends = list(zip(box.lower.numerators, box.upper.numerators, strict=True))
    active = sorted(
        {i for row in rows for i, a in enumerate(row) if a and ends[i][0] != ends[i][1]}
    )
    fixed = [
        layer.bias[j] * box.denominator
        + sum(a * ends[i][0] for i, a in enumerate(row) if a and ends[i][0] == ends[i][1])
        for j, row in zip(hinges, rows, strict=True)
    ]
    supports = [[p for p, i in enumerate(active) if row[i]] for row in rows]
    width = max((s[-1] - s[0] + 1 for s in supports if s), default=0)
    if len(hinges) << width > _MOST_VALUES or width > 24:
        raise Unsupported(f"{len(hinges)} hinges on windows of {width} inputs are too many corners")
    starts = [min(s[0], len(active) - width) if s else 0 for s in supports]
    best = [[0] * (1 << max(width - 1, 0)) for _ in weights]
    for start in range(len(active) - width + 1):
        chosen = [h for h in range(len(hinges)) if starts[h] == start]
        window = active[start : start + width]
        values = _values(rows, fixed, chosen, [ends[i] for i in window], window)
        for k, row in enumerate(weights):
            table = _table(row, chosen, values, 1 << width)
            best[k] = _advance(best[k], table, width)
    scale = layer.denominator * box.denominator
    return [Fraction(max(states), scale) for states in best]


def _values(
    rows: list[list[int]],
    fixed: list[int],
    chosen: list[int],
    ends: list[tuple[int, int]],
    window: list[int],
) -> fmpz_mat:
    """relu of every chosen hinge at every corner of a window: bit i picks the end of input i."""
    width, corners = len(window), 1 << len(window)
    slopes = fmpz_mat(len(chosen), width, [rows[h][i] for h in chosen for i in window])
    points = [ends[i][corner >> i & 1] for i in range(width) for corner in range(corners)]
    flat = entries(slopes * fmpz_mat(width, corners, points)) if width else [0] * len(chosen)
    shifted = (
        value + fixed[h]
        for position, h in enumerate(chosen)
        for value in flat[position * corners : (position + 1) * corners]
    )
    return fmpz_mat(len(chosen), corners, [value if value > 0 else 0 for value in shifted])


def _table(row: list[int], chosen: list[int], values: fmpz_mat, corners: int) -> list[int]:
    if not chosen:
        return [0] * corners
    return entries(fmpz_mat(1, len(chosen), [row[h] for h in chosen]) * values)


def _advance(states: list[int], table: list[int], width: int) -> list[int]:
    """Add a window's table and maximise over the end of its first coordinate."""
    if width == 0:
        return [states[0] + table[0]]
    mask = len(states) - 1
    sums = [states[corner & mask] + value for corner, value in enumerate(table)]
    return [a if a > b else b for a, b in zip(sums[::2], sums[1::2], strict=True)]
