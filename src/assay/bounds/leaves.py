"""Parts of a box on which a piecewise linear network is affine: one linear programme each.

The programme minimises the functional over the part: the box, and every unit within its range.
Its solution is a candidate witness. Its multipliers go back into the backward pass, which gives
the sound bound; how well the programme was solved decides only how good that bound is.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import linprog
from torch import Tensor

from assay.bounds.backward import AffineLink, RelaxedLink
from assay.bounds.domains import Units
from assay.bounds.relaxed_network import Bound, Choice, RelaxedNetwork
from assay.bounds.rows import as_rows

Floats = NDArray[np.float64]
_BEYOND = 4.0
"""How far the multipliers of a part without inputs are stretched past what refutes it."""


@dataclass(frozen=True)
class Leaf:
    """The solution if there is one, and multipliers of the units' lower and upper ends."""

    point: Floats | None
    ups: Floats
    downs: Floats


@dataclass(frozen=True)
class Programme:
    """Minimise goal x for x in the box with slopes x in the room; ends are pairs low, high."""

    goal: Floats
    slopes: Floats
    room: tuple[Floats, Floats]
    box: tuple[Floats, Floats]

    @property
    def left(self) -> Floats:
        return np.vstack([-self.slopes, self.slopes])

    @property
    def right(self) -> Floats:
        return np.concatenate([-self.room[0], self.room[1]])

    @property
    def finite(self) -> bool:
        return all(np.isfinite(part).all() for part in (self.slopes, *self.room, self.goal))


def is_piecewise_linear(relaxed: RelaxedNetwork) -> bool:
    return all(
        isinstance(link, AffineLink)
        or (isinstance(link, RelaxedLink) and link.relaxation.kink is not None)
        for link in relaxed.links
    )


def solved(
    relaxed: RelaxedNetwork, units: Units, functional: Tensor, until: float = math.inf
) -> tuple[Tensor, Tensor]:
    """Sound bounds [B, K] and candidate points [B, inputs]; `functional` is [B, K, outputs].

    No unit of `relaxed` should be open. When the clock reaches `until`, the rest stays unsolved.
    """
    boxes, rows = functional.shape[:2]
    with torch.no_grad():
        own = relaxed.lower(relaxed.on_outputs(functional))
        start = relaxed.values[relaxed.network.input_name]
        points = as_rows(start.low * 0.5 + start.high * 0.5)
        ups = torch.zeros(boxes, rows, sum(units.sizes), dtype=torch.float64)
        downs = torch.zeros_like(ups)
        for (i, k), programme in programmes(relaxed, units, own):
            if time.monotonic() >= until:
                break
            leaf = _minimised(programme)
            ups[i, k] = torch.as_tensor(leaf.ups)
            downs[i, k] = torch.as_tensor(leaf.downs)
            if leaf.point is not None:
                points[i] = torch.as_tensor(leaf.point)
        choice = Choice({}, _by_name(ups, units, relaxed), _by_name(downs, units, relaxed))
        found = relaxed.lower(relaxed.on_outputs(functional), choice)
    return torch.maximum(found.bound, own.bound), points


def programmes(
    relaxed: RelaxedNetwork, units: Units, own: Bound
) -> Iterator[tuple[tuple[int, int], Programme]]:
    """The programme of each box and row of a bound `own`, the least value over the box alone."""
    boxes, rows = own.bound.shape
    slopes, offsets = _unit_forms(relaxed, units, boxes)
    goals = as_rows(own.at_input, 2).numpy()
    lows, highs = (
        units.flat({name: end(relaxed, name) for name in units.names}, boxes).numpy()
        for end in (_low, _high)
    )
    start = relaxed.values[relaxed.network.input_name]
    low, high = (as_rows(end).numpy() for end in (start.low, start.high))
    for i, k in itertools.product(range(boxes), range(rows)):
        room = (lows[i] - offsets[i], highs[i] - offsets[i])
        yield (i, k), Programme(goals[i, k], slopes[i], room, (low[i], high[i]))


def _low(relaxed: RelaxedNetwork, name: str) -> Tensor:
    return relaxed.values[name].low


def _high(relaxed: RelaxedNetwork, name: str) -> Tensor:
    return relaxed.values[name].high


def _unit_forms(relaxed: RelaxedNetwork, units: Units, boxes: int) -> tuple[Floats, Floats]:
    """Every unit as an affine function of the input: [B, units, inputs] and [B, units]."""
    start = relaxed.values[relaxed.network.input_name]
    centre, radius = (as_rows(t) for t in start.ball())
    slopes, offsets = [], []
    for name, size in zip(units.names, units.sizes, strict=True):
        shape = relaxed.values[name].low.shape[1:]
        each = torch.eye(size, dtype=torch.float64).reshape(1, size, *shape)
        found = relaxed.lower({name: each.expand(boxes, *each.shape[1:])})
        slope = as_rows(found.at_input, 2)
        least = (slope @ centre.unsqueeze(2) - slope.abs() @ radius.unsqueeze(2)).squeeze(2)
        slopes.append(slope)
        offsets.append(found.bound - least)
    return torch.cat(slopes, 1).numpy(), torch.cat(offsets, 1).numpy()


def _minimised(programme: Programme) -> Leaf:
    count, box = len(programme.slopes), programme.box
    none = Leaf(None, np.zeros(count), np.zeros(count))
    if not programme.finite:
        return none
    goal, left, right = programme.goal, programme.left, programme.right
    bounds = np.stack(box, axis=1)
    result = linprog(goal, A_ub=left, b_ub=right, bounds=bounds, method="highs")
    if result.status == 0:
        prices = np.maximum(-result.ineqlin.marginals, 0)
        return Leaf(np.clip(result.x, *box), prices[:count], prices[count:])
    # Without a solution, the multipliers of the least common relaxation of all rows refute it.
    slack = np.hstack([left, -np.ones((2 * count, 1))])
    result = linprog(
        np.r_[np.zeros(len(goal)), 1.0],
        A_ub=slack,
        b_ub=right,
        bounds=np.vstack([bounds, [0, np.inf]]),
        method="highs",
    )
    if result.status != 0 or result.fun <= 0:
        return none
    reach = float(np.abs(goal) @ np.maximum(np.abs(box[0]), np.abs(box[1]))) + 1.0
    prices = np.maximum(-result.ineqlin.marginals, 0) * (_BEYOND * reach / result.fun)
    return Leaf(None, prices[:count], prices[count:])


def _by_name(flat: Tensor, units: Units, relaxed: RelaxedNetwork) -> dict[str, Tensor]:
    parts = torch.split_with_sizes(flat, list(units.sizes), dim=2)
    return {
        name: part.reshape(*flat.shape[:2], *relaxed.values[name].low.shape[1:])
        for name, part in zip(units.names, parts, strict=True)
    }
