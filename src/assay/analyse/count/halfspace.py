"""The share of a cube on one side of a plane, in closed form, enclosed.

For t uniform in [-1, 1]^n and b_i = 2 |a_i|, the sum of a_i t_i lies below a level T above its least
value with probability

    V(T) = sum over subsets v of the coordinates of (-1)^|v| (T - b v)_+^n / (n! b_1 ... b_n).

By symmetry only T up to the middle is needed, where V is at most 1/2. Three things go into the
error that is added on both sides:

* Rounding. Subset sums are of nonnegative numbers, so the terms (T - b v) that count are off by a few
  roundings of T, and the whole by gamma times the sum of y^(k-1) over subsets, y = (T - b v)_+ / T.
  Where a b_i is small this is large: the terms cancel.
* Coordinates that are left out. Let D be the sum of their terms: it is symmetric and independent
  of the others, so E V_k(T + D) differs from V_k(T) by at most sup |V_k''| Var(D) / 2, and by sup V_k'
  E|D|. With b_1 >= b_2 the largest, V_k' <= 1 / b_1 and |V_k''| <= 1 / (b_1 b_2): V_k' is the
  average of the other coordinates' density, at most 1 / b_2, over the steps of width b_1. One
  coordinate alone is linear away from its ends, and nothing is lost there.
* What the plane's own level may be off, times V' <= 1 / b_1.

Every number of coordinates from one to n is tried; the one with the least error counts.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from assay.bounds.rounding import TINY, UNIT, gamma

MOST_COORDINATES = 16
_MOST_TERMS = 2**21
"""Subsets of all rows that are summed at once."""


def shares_below(weights: Tensor, offsets: Tensor, slack: Tensor) -> tuple[Tensor, Tensor]:
    """Bounds [N] of the share of the t in [-1, 1]^n with weights t + offset <= 0.

    For weights [N, n] and any offset within `slack` of the one given, [N] each. An offset that is
    infinite decides; where a weight is not a number nothing is known.
    """
    turn = max(1, _MOST_TERMS >> weights.shape[1])
    parts = [torch.split(t, turn) for t in (weights, offsets, slack)]
    found = [_shares(*part) for part in zip(*parts, strict=True)]
    low, high = (torch.cat(side) for side in zip(*found, strict=True))
    return low, high


def _shares(weights: Tensor, offsets: Tensor, slack: Tensor) -> tuple[Tensor, Tensor]:
    ordered = weights.abs().sort(dim=1, descending=True).values
    distance, reach = offsets.abs(), ordered.sum(1)
    doubt = slack + gamma(weights.shape[1] + 16) * (reach + distance) + TINY
    value, error = _smaller_part(ordered, distance, doubt)
    low, high = (value - error).clamp(0, 1), (value + error).clamp(0, 1)
    # A plane beyond all corners cuts nothing off.
    beyond = (reach + doubt <= distance) | (torch.isinf(distance) & torch.isfinite(reach))
    low, high = (torch.where(beyond, 0.0, end) for end in (low, high))
    holds = offsets < 0
    return torch.where(holds, 1 - high, low), torch.where(holds, 1 - low, high)


def _smaller_part(ordered: Tensor, distance: Tensor, doubt: Tensor) -> tuple[Tensor, Tensor]:
    """V where the plane has this distance from the middle, and its error; weights descend."""
    best, least = torch.full_like(distance, 0.5), torch.full_like(distance, math.inf)
    if not ordered.shape[1]:
        return best, least
    unit = 2 * ordered[:, 0]
    ordered, distance, doubt = ordered / unit.unsqueeze(1), distance / unit, doubt / unit
    widths = 2 * ordered
    sums, signs = widths.new_zeros(len(widths), 1), widths.new_ones(1)
    level = -distance
    for kept in range(1, widths.shape[1] + 1):
        sums = torch.cat([sums, sums + widths[:, kept - 1 : kept]], 1)
        signs = torch.cat([signs, -signs])
        level = level + ordered[:, kept - 1]
        value, rounding = _cut_corner(widths[:, :kept], level, sums, signs)
        error = rounding + _left_out(widths, kept, level - doubt) + doubt
        error = error * (1 + gamma(64)) + 4 * UNIT
        # Where a width is zero the error is no number, and fewer coordinates do.
        better = error < least
        best, least = torch.where(better, value, best), torch.where(better, error, least)
    return best, least


def _cut_corner(
    widths: Tensor, level: Tensor, sums: Tensor, signs: Tensor
) -> tuple[Tensor, Tensor]:
    """The formula for the coordinates kept, and the bound of its rounding."""
    kept = widths.shape[1]
    cuts = level > 0
    positive = torch.where(cuts, level, 1.0).unsqueeze(1)
    ratio = (positive / widths).prod(1) / math.factorial(kept)
    y = ((positive - sums) / positive).clamp(min=0)
    value = ratio * (y**kept @ signs)
    g = gamma(2**kept + kept * (kept + 8) + 16)
    rounding = ratio * (g * ((y + 4 * g) ** (kept - 1)).sum(1))
    return torch.where(cuts, value, 0.0), torch.where(cuts, rounding, 0.0)


def _left_out(widths: Tensor, kept: int, surely: Tensor) -> Tensor:
    """What leaving out the coordinates after the first `kept` can change; the widest is 1."""
    rest = widths[:, kept:]
    if not rest.shape[1]:
        return torch.zeros_like(surely)
    variance = (rest * rest).sum(1) / 12
    if kept > 1:
        return torch.minimum(variance.sqrt(), variance / (2 * widths[:, 1]))
    return torch.where(surely >= rest.sum(1) / 2 * (1 + gamma(64)), 0.0, variance.sqrt())
