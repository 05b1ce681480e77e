"""Linear bounds of reduced ReLU chains on the pieces of cells (CROWN by backward substitution).

All pieces of a cell share its reduced network; N cells of C pieces each are bounded at once. Every
functional is carried back layer by layer: an open unit is replaced by a line beneath or above it,
as the sign of its coefficient says.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from assay.analyse.count.reduced import ReducedChain
from assay.analyse.count.relu_chain import ReluChain
from assay.bounds.rounding import TINY, UNIT


@dataclass(frozen=True, eq=False)
class UnitLines:
    """Open units of one layer on all pieces: ranges and lines, [N, C, K] each.

    low slope z <= relu(z) <= high slope z + offset. `middle` [N, C, 1 + n, K] is a unit as an
    affine function of t: exact in the first layer, else halfway between its bounds. `crosses`
    where more than rounding keeps it open.
    """

    low: Tensor
    high: Tensor
    low_slope: Tensor
    high_slope: Tensor
    offset: Tensor
    middle: Tensor
    crosses: Tensor


@dataclass(frozen=True, eq=False)
class RowPlanes:
    """Planes beneath and above all rows: weights [N, C, R, n] and offsets for t in [-1, 1]^n.

    `pulls` [N, C, K] is, layer by layer, how much of a unit's lines the rows take in.
    """

    lower: Tensor
    lower_offset: Tensor
    upper: Tensor
    upper_offset: Tensor
    pulls: tuple[Tensor, ...]


@dataclass(frozen=True, eq=False)
class Pieces:
    """Middles and half sizes in the unit cube, [N, C, n] each, exact."""

    middle: Tensor
    half: Tensor

    def plane(self, functional: Tensor, constant: Tensor | float) -> tuple[Tensor, Tensor]:
        """Functionals [N, C or 1, R, 1 + n] of s as weights and offsets for t in [-1, 1]^n."""
        slopes = functional[..., 1:]
        offset = (slopes * self.middle.unsqueeze(2)).sum(3) + functional[..., 0] + constant
        return slopes * self.half.unsqueeze(2), offset


def unit_lines(chain: ReluChain, cells: ReducedChain, pieces: Pieces) -> list[UnitLines]:
    """Ranges and lines of all open units, layer by layer."""
    lines: list[UnitLines] = []
    for layer, units in enumerate(cells.layers):
        slack = chain.slack(layer)[cells.units[layer]].unsqueeze(1)
        if layer == 1:
            middle, half = _spread(units, lines[0], pieces)
            lower, upper = middle - half, middle + half
            low = lower[:, :, 0] - lower[:, :, 1:].abs().sum(2) - slack
            high = upper[:, :, 0] + upper[:, :, 1:].abs().sum(2) + slack
            lines.append(_around(low, high, middle, slack, cells.used[layer]))
            continue
        forms = units.transpose(1, 2).unsqueeze(1)
        if layer:
            both = torch.cat([forms, -forms], 2)
            weights, offset, _ = _carried(cells, lines, both, pieces)
            lower, upper = weights.tensor_split(2, 2)
            lowest, highest = offset.tensor_split(2, 2)
            low = lowest - lower.abs().sum(3) - slack
            high = -highest + upper.abs().sum(3) + slack
            middle = torch.cat([(lowest - highest).unsqueeze(3), lower - upper], 3) * 0.5
        else:
            moves, offset = pieces.plane(forms, 0.0)
            spread = moves.abs().sum(3)
            low, high = offset - spread - slack, offset + spread + slack
            middle = torch.cat([offset.unsqueeze(3), moves], 3)
        middle = middle.transpose(2, 3).contiguous()
        lines.append(_around(low, high, middle, slack, cells.used[layer]))
    return lines


def _spread(units: Tensor, line: UnitLines, pieces: Pieces) -> tuple[Tensor, Tensor]:
    """Units behind one layer of lines as |z - M| <= D, both affine in t, [N, C, 1 + n, K].

    The very bound of backward substitution, with 1 + n columns in place of two rows a unit.
    """
    places = line.middle.shape[2]
    weights = units[:, places:]
    low, high = line.low_slope.unsqueeze(2) * 0.5, line.high_slope.unsqueeze(2) * 0.5
    middle, half = (high + low) * line.middle, (high - low) * line.middle
    for part in (middle, half):
        part[:, :, 0] += 0.5 * line.offset
    shape = (*middle.shape[:3], units.shape[2])
    moved = (middle.flatten(1, 2) @ weights).reshape(shape)
    weights_and_offset = pieces.plane(units[:, :places].transpose(1, 2).unsqueeze(1), 0.0)
    moved[:, :, 1:] += weights_and_offset[0].transpose(2, 3)
    moved[:, :, 0] += weights_and_offset[1]
    return moved, (half.flatten(1, 2) @ weights.abs()).reshape(shape)


def row_planes(cells: ReducedChain, lines: list[UnitLines], pieces: Pieces) -> RowPlanes:
    forms = cells.rows.transpose(1, 2).unsqueeze(1)
    weights, offset, pulls = _carried(cells, lines, torch.cat([forms, -forms], 2), pieces)
    lower, upper = weights.tensor_split(2, 2)
    beneath, above = offset.tensor_split(2, 2)
    return RowPlanes(lower, beneath, -upper, -above, pulls)


def _carried(
    cells: ReducedChain, lines: list[UnitLines], forms: Tensor, pieces: Pieces
) -> tuple[Tensor, Tensor, tuple[Tensor, ...]]:
    """Planes beneath forms [N, 1, R, columns] of the place and the units of the layers in `lines`.

    Also the coefficients [N, C, R, K] of those units on the way.
    """
    constant: Tensor | float = 0.0
    pulls = []
    for units, line in zip(reversed(cells.layers[: len(lines)]), reversed(lines), strict=True):
        columns = units.shape[1]
        pull = forms[..., columns:]
        up = pull > 0
        slope = torch.where(up, line.low_slope.unsqueeze(2), line.high_slope.unsqueeze(2))
        slope = slope * pull
        constant = constant + (line.offset.unsqueeze(2) * pull.clamp(max=0)).sum(3)
        shape = slope.shape
        back = slope.flatten(1, 2) @ units.transpose(1, 2)
        forms = back.reshape(*shape[:3], columns) + forms[..., :columns]
        pulls.append(pull)
    weights, offset = pieces.plane(forms, constant)
    return weights, offset, tuple(reversed(pulls))


def _around(low: Tensor, high: Tensor, middle: Tensor, slack: Tensor, used: Tensor) -> UnitLines:
    used = used.unsqueeze(1)
    open_ = (low < 0) & (high > 0) & used
    width = torch.where(open_, high - low, 1.0)
    on = ((low >= 0) & used).to(low.dtype)
    chord = torch.where(open_, high / width, on)
    over = torch.maximum(-chord * low, high - chord * high) + 4 * UNIT * width + TINY
    offset = torch.where(open_, over, 0.0)
    low_slope = torch.where(open_, (high >= -low).to(low.dtype), on)
    crosses = open_ & (high > 3 * slack) & (low < -3 * slack)
    return UnitLines(low, high, low_slope, chord, offset, middle, crosses)
