"""The exact maximum over a box of nonnegative sums of hinges relu(a_j · x + b_j).

Such a sum is convex, so its maximum over a box is at a corner. When every hinge looks at a
short window of consecutive active coordinates, a dynamic programme over the coordinates finds
the best corner exactly: its state is the choice of end at the last (window - 1) coordinates.
With one window over all active coordinates it is plain enumeration of the corners.
"""

from __future__ import annotations

from fractions import Fraction

from flint import fmpz_mat

from assay.proof.arithmetic import Unsupported, entries
from assay.proof.chain import Affine
from assay.proof.interval import Interval
from assay.proof.work import charge

_MOST_WORDS = 1 << 25


def corner_maxima(
    layer: Affine, hinges: list[int], weights: list[list[int]], box: Interval
) -> list[Fraction]:
    """max over the box of sum_j weights[k][j] relu(hinge j) for every row k; weights >= 0."""
    rows = [layer.rows[j] for j in hinges]
    ends = list(zip(box.lower.numerators, box.upper.numerators, strict=True))
    used = {i for row in rows for i, a in enumerate(row) if a}
    active = sorted(i for i in used if ends[i][0] != ends[i][1])
    # what the coordinates without freedom and the bias contribute to each hinge
    fixed = [
        layer.bias[j] * box.denominator
        + sum(row[i] * ends[i][0] for i in used if ends[i][0] == ends[i][1])
        for j, row in zip(hinges, rows, strict=True)
    ]
    supports = [[p for p, i in enumerate(active) if row[i]] for row in rows]
    width = max((s[-1] - s[0] + 1 for s in supports if s), default=0)
    windows = len(active) - width + 1
    longest = max((abs(n) for numbers in (*rows, *ends) for n in numbers), default=0)
    words = 1 + longest.bit_length() // 32
    if width > 24 or (len(hinges) + len(weights)) * words << width > _MOST_WORDS:
        raise Unsupported(f"{len(hinges)} hinges on windows of {width} inputs are too many corners")
    charge(10 * (len(hinges) + len(weights) * windows) * words << width)
    starts = [min(s[0], windows - 1) if s else 0 for s in supports]
    best = [[0] * (1 << max(width - 1, 0)) for _ in weights]
    for start in range(windows):
        chosen = [h for h, own in enumerate(starts) if own == start]
        window = active[start : start + width]
        slopes = [[rows[h][i] for i in window] for h in chosen]
        values = _values(slopes, [fixed[h] for h in chosen], [ends[i] for i in window])
        for k, row in enumerate(weights):
            table = fmpz_mat(1, len(chosen), [row[h] for h in chosen]) * values
            best[k] = _advance(best[k], entries(table))
    scale = layer.denominator * box.denominator
    return [Fraction(max(states), scale) for states in best]


def _values(slopes: list[list[int]], fixed: list[int], ends: list[tuple[int, int]]) -> fmpz_mat:
    """relu of every hinge at every corner of a window: bit i picks the end of input i."""
    width, corners = len(ends), 1 << len(ends)
    points = [end[corner >> i & 1] for i, end in enumerate(ends) for corner in range(corners)]
    flat = [slope for row in slopes for slope in row]
    product = fmpz_mat(len(slopes), width, flat) * fmpz_mat(width, corners, points)
    sums = zip(entries(product), (f for f in fixed for _ in range(corners)), strict=True)
    return fmpz_mat(len(slopes), corners, [max(value + shift, 0) for value, shift in sums])


def _advance(states: list[int], table: list[int]) -> list[int]:
    """Add a window's table and maximise over the end of its first coordinate."""
    if len(table) == 1:
        return [states[0] + table[0]]
    mask = len(states) - 1
    sums = [states[corner & mask] + value for corner, value in enumerate(table)]
    return [max(pair) for pair in zip(sums[::2], sums[1::2], strict=True)]
