"""What linear bounds say of a violation on the cells of any network that they know."""

from __future__ import annotations

import math
from fractions import Fraction

import torch
from torch import Tensor

from assay.analyse.count.cells import Cells, Grid, halving_axes, pieces
from assay.analyse.count.last_layer import constant_excess
from assay.analyse.count.shares import Planes, ShareRule
from assay.bounds.backward import RelaxedLink
from assay.bounds.inequalities import Excesses, inequality_rows
from assay.bounds.linear import LinearNetwork
from assay.bounds.operators.relaxation import KINKED
from assay.bounds.relaxed_network import Bound, RelaxedNetwork
from assay.bounds.rounding import TINY, UNIT, gamma
from assay.bounds.rows import as_rows
from assay.question.network import Network
from assay.question.property import Violation

_MOST_AT_ONCE = 2048
_LITTLE = 1e-6
_BARELY = 2.0**-20
"""A unit that passes zero by no more than this share of its range may be open by rounding alone."""


class Bounder:
    """Planes and shares for batches of cells of one box."""

    def __init__(
        self, network: Network, grid: Grid, violation: Violation, numbers: int, until: float
    ) -> None:
        """`numbers` are in one tensor at most; `until` the monotonic clock reaches this."""
        self.network, self.grid, self.until = network, grid, until
        self.engine = LinearNetwork(network, coefficients=numbers)
        self.excesses = Excesses.of(violation)
        self.rule = ShareRule(violation, self.excesses.thresholds.shape[1])
        self.signs = _constant_signs(network, violation)
        made = (network.input_name, *(name for node in network.nodes for name in node.outputs))
        widest = max(math.prod(network.shapes[name]) for name in made if name)
        rows = 2 * self.rule.stated.numel() + 3 * (len(grid.moving) + 1)
        self.at_once = max(1, min(_MOST_AT_ONCE, numbers // (rows * widest)))

    def root(self) -> Cells:
        corner = torch.zeros(1, len(self.grid.moving), dtype=torch.float64)
        return self._cells(corner, torch.ones_like(corner))

    def children(self, parents: Cells, halvings: int) -> Cells:
        """The pieces of cells, halved so many times, with what is known of them."""
        return self._cells(*pieces(parents, halvings))

    def _cells(self, corner: Tensor, size: Tensor) -> Cells:
        relaxed, bound = self._bound(corner, size)
        planes = self._planes(relaxed, bound, size)
        shares = self.rule.shares(planes)
        scores = self._scores(relaxed, bound, planes, shares.doubt, size)
        axes = halving_axes(self.grid, scores, size)
        flat = self._flat(relaxed, planes)
        unknown = torch.empty(len(corner), 0, dtype=torch.uint8)
        return Cells.of(corner, size, shares, axes, flat, unknown)

    def _bound(self, corner: Tensor, size: Tensor) -> tuple[RelaxedNetwork, Bound]:
        box = self.engine.intervals.start(*self.grid.boxes(corner, size))
        relaxed = self.engine.relaxed(box, moving=self.grid.moving, until=self.until)
        rows = self.excesses.coefficients.flatten(0, 1)
        both = torch.cat([rows, -rows]).expand(len(corner), -1, -1)
        with torch.no_grad():
            return relaxed, relaxed.lower(relaxed.on_outputs(both))

    def _planes(self, relaxed: RelaxedNetwork, bound: Bound, size: Tensor) -> Planes:
        """A bound with functional f is f (x - c) + bound + |f| r for a box of centre c, radius r.

        What the exact cell differs from the box, and all rounding, goes into the slack.
        """
        _, radius = relaxed.values[self.network.input_name].ball()
        slopes = as_rows(bound.at_input, 2)
        sizes = slopes.abs()
        reach = (sizes @ as_rows(radius).unsqueeze(2)).squeeze(2)
        weights = slopes[:, :, self.grid.moving] * self.grid.radii(size).unsqueeze(1)
        shape = (len(size), 2, *self.rule.stated.shape)
        weights = weights.reshape(*shape, -1)
        heights = (bound.bound + reach).reshape(shape)
        thresholds = self.excesses.thresholds
        terms = bound.bound.abs() + reach
        rounding = gamma(slopes.shape[2] + 16) * terms + 4 * (sizes @ self.grid.blur) + TINY
        slack = rounding.reshape(shape).amax(1) + self._lost(relaxed)
        slack = slack + 4 * UNIT * thresholds.abs()
        constant = self.signs != 0
        flat = constant.unsqueeze(2)
        return Planes(
            torch.where(flat, 0.0, weights[:, 0]),
            torch.where(constant, self.signs, heights[:, 0] - thresholds),
            torch.where(flat, 0.0, -weights[:, 1]),
            torch.where(constant, self.signs, -heights[:, 1] - thresholds),
            torch.where(constant, 0.0, torch.nan_to_num(slack, nan=torch.inf)),
        )

    def _flat(self, relaxed: RelaxedNetwork, planes: Planes) -> Tensor:
        """Cells [N] without an open unit on which an excess may be zero everywhere.

        There the two planes differ by rounding alone, and neither leaves zero.
        """
        beneath = planes.lower_offset + planes.lower.abs().sum(3) <= planes.slack
        above = planes.upper_offset - planes.upper.abs().sum(3) >= -planes.slack
        return (beneath & above).flatten(1).any(1) & ~_with_open_units(relaxed)

    def _lost(self, relaxed: RelaxedNetwork) -> Tensor:
        """What coefficients lost in float64 can change an excess, [N, D, K]."""
        residues = self.excesses.residues
        if not bool(residues.any()):
            return residues.new_zeros(1, *residues.shape[:2])
        outputs = as_rows(relaxed.values[self.network.output_name].size)
        lost = torch.einsum("dko,no->ndk", residues, outputs)
        return lost * (1 + gamma(outputs.shape[1] + 8)) + TINY

    def _scores(
        self, relaxed: RelaxedNetwork, bound: Bound, planes: Planes, doubt: Tensor, size: Tensor
    ) -> Tensor:
        """[N, n]: how much halving a side narrows open units; they keep the planes apart.

        A unit counts with its weight in the bounds, those with the share they leave in doubt. How
        the sides move units of later layers is not known: they count for long sides.
        """
        weight = doubt.flatten(1).repeat(1, 2).unsqueeze(1)
        moved = planes.lower.abs() + planes.upper.abs()
        scores = _LITTLE * torch.einsum("ndki,ndk->ni", moved, doubt)
        for link in relaxed.links:
            name, output = link.node.inputs[0], link.node.outputs[0]
            if not isinstance(link, RelaxedLink) or output not in bound.at_kinks:
                continue
            x = relaxed.values[name]
            open_ = as_rows((x.low < 0) & (x.high > 0))
            pull = (weight @ as_rows(bound.at_kinks[output], 2).abs())[:, 0] * open_
            if name not in relaxed.carried:
                width = torch.nan_to_num(pull * as_rows(x.high - x.low)).sum(1, keepdim=True)
                scores = scores + width * size / size.sum(1, keepdim=True)
                continue
            columns = as_rows(relaxed.carried[name].middle, 2)[:, 1:]
            scores = scores + (columns.abs() @ pull.unsqueeze(2))[:, :, 0]
        return torch.nan_to_num(scores, posinf=torch.finfo().max)


def _with_open_units(relaxed: RelaxedNetwork) -> Tensor:
    """Cells [N] on which a unit passes its kink by more than rounding: they are not affine."""
    found = torch.zeros_like(relaxed.empty)
    for link in relaxed.links:
        if link.node.op_type in KINKED:
            x = relaxed.values[link.node.inputs[0]]
            beyond = torch.minimum(-x.low, x.high) > _BARELY * x.size
            found = found | as_rows(beyond).any(1)
    return found


def _constant_signs(network: Network, violation: Violation) -> Tensor:
    """[D, K]: 1 where an excess is constant and positive, -1 where not positive, 0 elsewhere."""

    def sign(excess: Fraction | None) -> float:
        if excess is None:
            return 0.0
        return 1.0 if excess > 0 else -1.0

    rows = inequality_rows(violation)
    signs = [[sign(constant_excess(network, i)) for i in row] for row in rows]
    return torch.tensor(signs, dtype=torch.float64)
