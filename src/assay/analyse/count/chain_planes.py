"""What linear bounds say of a violation on the cells of an MLP, reduced to their open units.

The cost of a cell falls with the units that are open on it, and its pieces share the reduction.
Ranges of units only ever narrow: what is off or on in a cell is so in its pieces.
"""

from __future__ import annotations

import torch
from torch import Tensor

from assay.analyse.count.cells import OFF, ON, OPEN, Cells, Grid, halving_axes, pieces
from assay.analyse.count.chain_bounds import Pieces, RowPlanes, UnitLines, row_planes, unit_lines
from assay.analyse.count.reduced import ReducedChain, reduced
from assay.analyse.count.relu_chain import ReluChain
from assay.analyse.count.shares import Planes, ShareRule, joined_planes
from assay.question.property import Violation

_SETTLED_WITHIN = 2.0**-20
"""A cell without an open unit whose share is known less well than this may hold a tie."""


class ChainBounder:
    """Planes and shares for batches of cells of one box."""

    at_once = 4096

    def __init__(self, chain: ReluChain, grid: Grid, violation: Violation, numbers: int) -> None:
        """`numbers` are in one tensor of coefficients at most."""
        self.chain, self.grid, self.numbers = chain, grid, numbers
        disjuncts = len(violation.disjuncts)
        self.shape = (disjuncts, chain.reach.shape[1] // disjuncts)
        self.rule = ShareRule(violation, self.shape[1])

    def root(self) -> Cells:
        corner = torch.zeros(1, len(self.grid.moving), dtype=torch.float64)
        phases = torch.full((1, sum(self.chain.units)), OPEN, dtype=torch.uint8)
        return self._cells(corner, torch.ones_like(corner), phases)

    def children(self, parents: Cells, halvings: int) -> Cells:
        """The pieces of cells, halved so many times, with what is known of them."""
        phases = parents.phases(sum(self.chain.units))
        return self._cells(*pieces(parents, halvings), phases)

    def _cells(self, corner: Tensor, size: Tensor, phases: Tensor) -> Cells:
        """Of pieces [C * N, n] of cells whose units are in these phases, [N, units]."""
        cells = len(phases)
        lower, sizes = (t.reshape(-1, cells, t.shape[1]).transpose(0, 1) for t in (corner, size))
        half = 0.5 * sizes
        networks, parts = reduced(self.chain, phases), Pieces(lower + half, half)
        planes: list[Planes] = []
        scores: list[Tensor] = []
        narrows: list[Tensor] = []
        now: list[Tensor] = []
        for turn in self._turns(networks, half.shape[1]):
            chosen = networks.at(turn)
            place = Pieces(parts.middle[turn], parts.half[turn])
            lines = unit_lines(self.chain, chosen, place)
            found = row_planes(chosen, lines, place)
            known = self._known(chosen, lines, found, phases[turn], sizes[turn])
            planes.append(known[0])
            for part, more in zip((scores, narrows, now), known[1:], strict=True):
                part.append(more)
        corner, size = (t.flatten(0, 1) for t in (lower, sizes))
        shares = self.rule.shares(joined_planes(planes))
        axes = halving_axes(self.grid, torch.cat(scores), size)
        settled = ~torch.cat(narrows)
        axes[settled] = -1
        suspect = settled & (shares.may - shares.must > _SETTLED_WITHIN)
        return Cells.of(corner, size, shares, axes, suspect, torch.cat(now))

    def _known(
        self,
        cells: ReducedChain,
        lines: list[UnitLines],
        rows: RowPlanes,
        phases: Tensor,
        size: Tensor,
    ) -> tuple[Planes, Tensor, Tensor, Tensor]:
        """Planes, scores of the sides, whether halving narrows, and phases, of all pieces."""
        count, parts, _ = size.shape
        now = phases.unsqueeze(1).repeat(1, parts, 1)
        narrows = torch.zeros(count, parts, dtype=torch.bool)
        scores = 1e-6 * (rows.lower.abs() + rows.upper.abs()).sum(2)
        first = 0
        for layer, (line, pull) in enumerate(zip(lines, rows.pulls, strict=True)):
            units = self.chain.units[layer]
            number = cells.units[layer].unsqueeze(1).expand(-1, parts, -1)
            used = cells.used[layer].unsqueeze(1)
            phase = torch.where(line.low >= 0, ON, torch.where(line.high <= 0, OFF, OPEN))
            part = now[:, :, first : first + units]
            kept = part.gather(2, number)
            part.scatter_(2, number, torch.where(used, phase.to(now.dtype), kept))
            narrows |= line.crosses.any(2)
            weight = pull.abs().sum(2) * line.crosses
            scores = scores + (line.middle[:, :, 1:].abs() @ weight.unsqueeze(3))[..., 0]
            first += units
        alive = now[:, :, first - self.chain.units[-1] :] != OFF
        slack = self.chain.row_slack(alive.flatten(0, 1))
        shape = (count * parts, *self.shape)
        planes = Planes(
            rows.lower.reshape(*shape, -1),
            rows.lower_offset.reshape(shape),
            rows.upper.reshape(*shape, -1),
            rows.upper_offset.reshape(shape),
            slack.reshape(shape),
        )
        return planes, scores.flatten(0, 1), narrows.flatten(), now.flatten(0, 1)

    def _turns(self, cells: ReducedChain, parts: int) -> list[slice]:
        """Batches of cells that keep every tensor small."""
        columns, rows = cells.rows.shape[1:]
        # From the third layer on, units are carried back in two rows each.
        deep = (units.shape[1] for units in cells.units[2:])
        most = max(len(self.grid.moving) + 1, 2 * rows, *(2 * units for units in deep))
        each = max(1, self.numbers // (parts * most * columns))
        return [slice(k, k + each) for k in range(0, len(cells), each)]
