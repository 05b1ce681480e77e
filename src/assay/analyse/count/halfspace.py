"""The share of a cube on one side of a plane, in closed form, enclosed.

For t uniform in [-1, 1]^n and b_i = 2 |a_i|, the sum of a_i t_i lies below a level T above its
least value with probability

    V(T) = sum over subsets v of the coordinates of (-1)^|v| (T - b v)_+^n / (n! b_1 ... b_n).

By symmetry only T up to the middle is needed, where V is at most 1/2. Three things go into the
error that is added on both sides:

* Rounding. Subset sums are of nonnegative numbers, so the terms T - b v that count are off by a
  few roundings of T, and V_k by gamma times the sum over subsets of y^(k-1), y = (T - b v)_+ / T,
  times T^k / (k! b_1 ... b_k). Where a b_i is small this is large: the terms cancel.
* Coordinates that are left out. Let D be the sum of their terms: it is symmetric and independent
  of the others, so E V_k(T + D) differs from V_k(T) by at most sup |V_k''| Var(D) / 2, and by at
  most sup V_k' E|D|. With b_1 >= b_2 the largest widths, V_k' <= 1 / b_1 and
  V_k'' = (q(T) - q(T - b_1)) / b_1 for the density q <= 1 / b_2 of the coordinates but the first.
  A single coordinate is linear away from its ends, and nothing is lost there.
* What the plane's own level may be off, times V' <= 1 / b_1.

Where all n coordinates make a large error, every smaller number is tried, and the least error
counts.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from assay.bounds.rounding import TINY, UNIT, gamma

MOST_COORDINATES = 16
_MOST_TERMS = 2**21
"""Subsets of all rows that are summed at once."""
_GOOD = 2.0**-40
"""With an error up to this nobody asks whether fewer coordinates are better."""


def shares_below(weights: Tensor, offsets: Tensor, slack: Tensor) -> tuple[Tensor, Tensor]:
    """Bounds [N] of the share of the t in [-1, 1]^n with weights t + offset <= 0.

    For weights [N, n] and any offset within `slack` of the one given, [N] each. An offset that is
    infinite decides; where a weight is not a number nothing is known. Ties belong to the share, so
    that one without weights and slack has all or nothing.
    """
    sizes, distance = weights.abs(), offsets.abs()
    reach = sizes.sum(1)
    doubt = slack + gamma(weights.shape[1] + 16) * (reach + distance) + TINY
    # A plane beyond all corners cuts nothing off.
    beyond = (reach + doubt <= distance) | (torch.isinf(distance) & torch.isfinite(reach))
    low, high = torch.zeros_like(reach), (~beyond).to(reach.dtype)
    cut = (~beyond).nonzero().flatten()
    rows = max(1, _MOST_TERMS >> weights.shape[1])
    for turn in torch.split(cut, rows) if len(cut) and weights.shape[1] else ():
        value, error = _smaller_part(sizes[turn], distance[turn], doubt[turn])
        low[turn], high[turn] = (value - error).clamp(0, 1), (value + error).clamp(0, 1)
    # What is exactly constant either holds everywhere, and zero is a tie, or nowhere.
    constant = (reach == 0) & (slack == 0)
    low, high = (torch.where(constant, 0.0, end) for end in (low, high))
    holds = (offsets < 0) | (constant & (offsets == 0))
    return torch.where(holds, 1 - high, low), torch.where(holds, 1 - low, high)


def _smaller_part(sizes: Tensor, distance: Tensor, doubt: Tensor) -> tuple[Tensor, Tensor]:
    """V where the plane has this distance from the middle, and its error."""
    ordered = sizes.sort(dim=1, descending=True).values
    unit = 2 * ordered[:, 0]
    ordered, distance, doubt = ordered / unit.unsqueeze(1), distance / unit, doubt / unit
    coordinates = ordered.shape[1]
    best, least = _with_kept(ordered, distance, doubt, coordinates)
    least = torch.nan_to_num(least, nan=math.inf)
    poor = (least > _GOOD).nonzero().flatten()
    if len(poor):
        hard = (ordered[poor], distance[poor], doubt[poor])
        for kept in range(1, coordinates):
            value, error = _with_kept(*hard, kept)
            # Where a width is zero the error is no number, and fewer coordinates do.
            better = error < least[poor]
            best[poor] = torch.where(better, value, best[poor])
            least[poor] = torch.where(better, error, least[poor])
    return torch.nan_to_num(best, nan=0.5), least


def _with_kept(
    ordered: Tensor, distance: Tensor, doubt: Tensor, kept: int
) -> tuple[Tensor, Tensor]:
    """V and its error with the `kept` largest coordinates; the widest is 1."""
    widths = 2 * ordered
    sums, signs = widths.new_zeros(len(widths), 1), widths.new_ones(1)
    for number in range(kept):
        sums = torch.cat([sums, sums + widths[:, number : number + 1]], 1)
        signs = torch.cat([signs, -signs])
    level = ordered[:, :kept].sum(1) - distance
    value, rounding = _cut_corner(widths[:, :kept], level, sums, signs)
    error = rounding + _left_out(widths, kept, level - doubt) + doubt
    return value, error * (1 + gamma(64)) + 4 * UNIT


def _cut_corner(
    widths: Tensor, level: Tensor, sums: Tensor, signs: Tensor
) -> tuple[Tensor, Tensor]:
    """The formula for the coordinates kept, and the bound of its rounding."""
    kept = widths.shape[1]
    cuts = level > 0
    positive = torch.where(cuts, level, 1.0).unsqueeze(1)
    ratio = (positive / widths).prod(1) / math.factorial(kept)
    y = ((positive - sums) / positive).clamp(min=0)
    g = gamma(2**kept + kept * (kept + 8) + 16)
    y_above = y + 4 * g
    powers, powers_above = torch.ones_like(y), torch.ones_like(y)
    for _ in range(kept - 1):
        powers, powers_above = powers * y, powers_above * y_above
    value = ratio * ((powers * y) @ signs)
    rounding = ratio * (g * powers_above.sum(1))
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
