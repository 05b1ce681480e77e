"""What linear bounds say of a violation on cells: planes between which each boundary lies.

Every inequality of the violation says that a linear function of the outputs, its excess, is at
most zero. On a cell the excess lies between two affine functions l and u of the input, so the
inequality holds where u <= 0 and fails where l > 0. Of an AND the shares where it must and may
hold are max(0, 1 - sum (1 - inner)) and the least outer; of an OR they are the greatest inner and
min(1, sum of outer) (Fréchet). Without an open unit on the cell l and u coincide.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from assay.analyse.count.cells import Cells, Grid, quanta
from assay.analyse.count.halfspace import shares_below
from assay.bounds.backward import RelaxedLink
from assay.bounds.inequalities import Excesses
from assay.bounds.linear import LinearNetwork
from assay.bounds.relaxed_network import Bound, RelaxedNetwork
from assay.bounds.rounding import TINY, UNIT, gamma
from assay.bounds.rows import as_rows
from assay.question.network import Network
from assay.question.property import Violation

_MOST_AT_ONCE = 1024
_MOST_NUMBERS = 2**21
_LITTLE = 1e-6


@dataclass(frozen=True, eq=False)
class Planes:
    """weights t + offset for t in [-1, 1]^n, [N, D, K, n] and [N, D, K], right within `slack`.

    `lower` is below the excess of inequality k of disjunct d on the whole cell, `upper` above it.
    """

    lower: Tensor
    lower_offset: Tensor
    upper: Tensor
    upper_offset: Tensor
    slack: Tensor


class Bounder:
    """Planes and shares for batches of cells of one box."""

    def __init__(self, network: Network, grid: Grid, violation: Violation) -> None:
        self.network, self.grid = network, grid
        self.engine = LinearNetwork(network)
        self.excesses = Excesses.of(violation)
        counts = torch.tensor([len(d) for d in violation.disjuncts])
        ranks = torch.arange(self.excesses.thresholds.shape[1])
        self.stated = ranks < counts.unsqueeze(1)
        """Which rows [D, K] are inequalities of the violation; others only follow from them."""
        self.alone = counts == 1
        made = (network.input_name, *(name for node in network.nodes for name in node.outputs))
        widest = max(math.prod(network.shapes[name]) for name in made if name)
        rows = 2 * self.stated.numel() + 3 * (len(grid.moving) + 1)
        self.at_once = max(1, min(_MOST_AT_ONCE, _MOST_NUMBERS // (rows * widest)))

    def cells(self, corner: Tensor, size: Tensor) -> Cells:
        """The cells with what is known of them."""
        relaxed, bound = self._bound(corner, size)
        planes = self._planes(relaxed, bound, size)
        outer = _shares(planes.lower, planes.lower_offset, planes.slack)[1]
        inner, inner_most = _shares(planes.upper, planes.upper_offset, planes.slack)
        must = _must_hold(inner, self.stated)
        may = torch.maximum(_may_hold(outer), must)
        plane, known, known_most = self._beneath_one(planes, inner, inner_most)
        axis = self._axis(relaxed, bound, planes, (outer - inner).clamp(min=0), size)
        return Cells(
            corner,
            size,
            quanta(must, size, up=False),
            quanta(may, size, up=True),
            quanta(known, size, up=False),
            quanta(known_most, size, up=True),
            plane,
            axis,
        )

    def _bound(self, corner: Tensor, size: Tensor) -> tuple[RelaxedNetwork, Bound]:
        box = self.engine.intervals.start(*self.grid.boxes(corner, size))
        relaxed = self.engine.relaxed(box, moving=self.grid.moving)
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
        shape = (len(size), 2, *self.stated.shape)
        weights = weights.reshape(*shape, -1)
        heights = (bound.bound + reach).reshape(shape)
        thresholds = self.excesses.thresholds
        terms = bound.bound.abs() + reach
        rounding = gamma(slopes.shape[2] + 16) * terms + 4 * (sizes @ self.grid.blur) + TINY
        slack = rounding.reshape(shape).amax(1) + self._lost(relaxed)
        slack = slack + 4 * UNIT * thresholds.abs()
        return Planes(
            weights[:, 0],
            heights[:, 0] - thresholds,
            -weights[:, 1],
            -heights[:, 1] - thresholds,
            torch.nan_to_num(slack, nan=torch.inf),
        )

    def _lost(self, relaxed: RelaxedNetwork) -> Tensor:
        """What coefficients lost in float64 can change an excess, [N, D, K]."""
        residues = self.excesses.residues
        if not bool(residues.any()):
            return residues.new_zeros(1, *residues.shape[:2])
        outputs = as_rows(relaxed.values[self.network.output_name].size)
        lost = torch.einsum("dko,no->ndk", residues, outputs)
        return lost * (1 + gamma(outputs.shape[1] + 8)) + TINY

    def _beneath_one(
        self, planes: Planes, inner: Tensor, most: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Of the disjuncts of one inequality, the plane with most beneath it, and how much."""
        flat = torch.cat([planes.upper, planes.upper_offset.unsqueeze(3)], 3)[:, :, 0]
        if not bool(self.alone.any()):
            nowhere = torch.zeros_like(flat[:, 0])
            nowhere[:, -1] = math.inf
            return nowhere, torch.zeros_like(nowhere[:, 0]), torch.zeros_like(nowhere[:, 0])
        best = torch.where(self.alone, inner[:, :, 0], -1.0).argmax(1)
        number = torch.arange(len(best))
        return flat[number, best], inner[number, best, 0], most[number, best, 0]

    def _axis(
        self,
        relaxed: RelaxedNetwork,
        bound: Bound,
        planes: Planes,
        doubt: Tensor,
        size: Tensor,
    ) -> Tensor:
        """The side whose halving narrows open units most; they keep the planes apart.

        A unit counts with its weight in the bounds, those with the share they leave in doubt.
        """
        weight = doubt.flatten(1).repeat(1, 2).unsqueeze(1)
        moved = planes.lower.abs() + planes.upper.abs()
        scores = _LITTLE * torch.einsum("ndki,ndk->ni", moved, doubt)
        for link in relaxed.links:
            name, output = link.node.inputs[0], link.node.outputs[0]
            if not isinstance(link, RelaxedLink) or output not in bound.at_kinks:
                continue
            if name not in relaxed.carried:
                continue
            x = relaxed.values[name]
            open_ = as_rows((x.low < 0) & (x.high > 0))
            pull = (weight @ as_rows(bound.at_kinks[output], 2).abs())[:, 0] * open_
            columns = as_rows(relaxed.carried[name].middle, 2)[:, 1:]
            scores = scores + (columns.abs() @ pull.unsqueeze(2))[:, :, 0]
        divisible = self.grid.divisible(size)
        if not divisible.shape[1]:
            return torch.full((len(divisible),), -1)
        scores = torch.where(divisible, torch.nan_to_num(scores, posinf=torch.finfo().max), -1.0)
        best = scores.argmax(1)
        return torch.where(divisible.any(1), best, -1)


def _shares(weights: Tensor, offsets: Tensor, slack: Tensor) -> tuple[Tensor, Tensor]:
    low, high = shares_below(weights.flatten(0, 2), offsets.flatten(), slack.flatten())
    return low.reshape(offsets.shape), high.reshape(offsets.shape)


def _may_hold(outer: Tensor) -> Tensor:
    """Upper bounds [N] from those of every inequality, [N, D, K]."""
    total = outer.amin(2).sum(1)
    if outer.shape[1] > 1:
        total = total * (1 + gamma(outer.shape[1]))
    return total.clamp(max=1)


def _must_hold(inner: Tensor, stated: Tensor) -> Tensor:
    """Lower bounds [N] from those of every inequality."""
    if stated.shape[1] == 1:
        return inner[:, :, 0].amax(1)
    missing = torch.where(stated, 1 - inner, 0.0).sum(2) * (1 + gamma(stated.shape[1] + 1))
    several = (1 - missing - 2 * UNIT).clamp(min=0)
    several = torch.where(missing == 0, 1.0, several)
    return torch.where(stated.sum(1) == 1, inner[:, :, 0], several).amax(1)
