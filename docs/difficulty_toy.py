"""The network of docs/difficulty.md: two inputs, nine ReLUs, two classes, on the box [-1, 1]^2.

It is small enough to be cut into the polygons on which it is affine, so that its pictures are
exact and not rasters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from assay.bounds.interval import enclosing_box, interval_bounds
from assay.difficulty.profile import Profile, profile
from assay.difficulty.settings import Settings
from assay.question.graph import mlp
from assay.question.network import Network, load
from assay.question.property import Case, Specification, Violation
from assay.question.region import Box

Layer = tuple[np.ndarray, np.ndarray]
_SLIVER = 1e-12


def _layer(rows: Sequence[Sequence[float]], biases: Sequence[float]) -> Layer:
    return np.array(rows, np.float32), np.array(biases, np.float32)


LAYERS = (
    _layer(
        [[-0.75, 0.25], [-1.5, 0.5], [-0.25, -0.25], [-0.25, 1.75], [-0.5, -0.25], [1, 0.25]],
        [0.75, -1.125, -0.75, -1, 0, -0.25],
    ),
    _layer(
        [
            [1.5, -1, 0.75, -2.25, -0.5, 1],
            [0.5, 0, 1, 0, 0.75, -1],
            [-1, 0, 0.75, -1.5, -0.75, -0.5],
        ],
        [0.75, -1, -0.25],
    ),
    _layer([[-1.5, -0.25, 0.5], [-0.25, 0.75, 1.25]], [3.625, 0]),
)
BOX = Box((Fraction(-1),) * 2, (Fraction(1),) * 2)
VIOLATION = Violation.misclassification(0, classes=2)
SPECIFICATION = Specification((Case(BOX, VIOLATION),))
DEFAULTS = Settings()


def network() -> Network:
    return load(mlp(list(LAYERS)), "toy")


def profiled(tau: float = DEFAULTS.tau) -> Profile:
    return profile(network(), SPECIFICATION, Settings(tau=tau))


@dataclass(frozen=True, eq=False)
class Piece:
    """A convex polygon, and the affine functions that a layer is on it."""

    corners: np.ndarray
    weights: np.ndarray
    offsets: np.ndarray

    @property
    def centre(self) -> np.ndarray:
        return np.asarray(self.corners.mean(axis=0))

    def at(self, points: np.ndarray) -> np.ndarray:
        return np.asarray(points @ self.weights.T + self.offsets)


def pieces(layers: Sequence[Layer], reach: float = 1.0) -> list[Piece]:
    """The square [-reach, reach]^2 in pieces on which the last of these layers is affine."""
    square = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * reach
    found = [Piece(square, np.eye(2), np.zeros(2))]
    for number, (rows, biases) in enumerate(layers):
        if number:
            found = [bent for piece in found for bent in _bent(piece)]
        found = [Piece(p.corners, rows @ p.weights, rows @ p.offsets + biases) for p in found]
    return found


def margin_pieces() -> list[Piece]:
    """The margin, the first output minus the second, piece by piece."""
    rows, biases = LAYERS[-1]
    margin = rows[:1] - rows[1:], biases[:1] - biases[1:]
    return pieces((*LAYERS[:-1], margin))


@dataclass(frozen=True, eq=False)
class Unit:
    """A ReLU: the interval and the true range of its input, and the lines where that is zero."""

    name: str
    interval: tuple[float, float]
    range: tuple[float, float]
    switches: list[np.ndarray]

    @property
    def state(self) -> str:
        if not self.interval[0] < 0 < self.interval[1]:
            return "stable"
        return "unstable" if self.range[0] < 0 < self.range[1] else "by intervals only"


def units(around: float) -> list[Unit]:
    """All ReLUs, with their lines in a square of this reach."""
    toy = network()
    bounds = interval_bounds(toy, *enclosing_box(BOX))
    found = []
    for depth, node in enumerate((node for node in toy.nodes if node.op_type == "Relu"), start=1):
        lows, highs = (end.flatten().tolist() for end in bounds[node.inputs[0]])
        here, wider = pieces(LAYERS[:depth]), pieces(LAYERS[:depth], around)
        values = np.concatenate([piece.at(piece.corners) for piece in here])
        for unit, interval in enumerate(zip(lows, highs, strict=True)):
            occurring = float(values[:, unit].min()), float(values[:, unit].max())
            lines = [line for piece in wider for line in _switch(piece, unit)]
            found.append(Unit(f"layer {depth}, unit {unit + 1}", interval, occurring, lines))
    return found


def kept(corners: np.ndarray, slope: np.ndarray, offset: float) -> np.ndarray:
    """The part of a convex polygon where slope . x + offset is not negative."""
    if not len(corners):
        return corners
    heights = corners @ slope + offset
    found = []
    for here, there, low, high in zip(
        corners, np.roll(corners, -1, 0), heights, np.roll(heights, -1), strict=True
    ):
        if low >= 0:
            found.append(here)
        if low * high < 0:
            found.append(here + (there - here) * low / (low - high))
    return np.array(found).reshape(-1, 2)


def area(corners: np.ndarray) -> float:
    x, y = corners.T
    return float(abs(x @ np.roll(y, -1) - y @ np.roll(x, -1)) / 2)


def _bent(piece: Piece) -> list[Piece]:
    """The pieces on which no ReLU of this layer switches, behind the ReLUs."""
    parts = [piece.corners]
    for slope, offset in zip(piece.weights, piece.offsets, strict=True):
        sides = [kept(part, s * slope, s * offset) for part in parts for s in (1, -1)]
        parts = [side for side in sides if len(side) > 2 and area(side) > _SLIVER]
    found = []
    for part in parts:
        on = piece.at(part.mean(axis=0)) > 0
        found.append(Piece(part, piece.weights * on[:, None], piece.offsets * on))
    return found


def _switch(piece: Piece, unit: int) -> list[np.ndarray]:
    """The line through a piece on which a unit's input is zero, if there is one."""
    slope, offset = piece.weights[unit], float(piece.offsets[unit])
    sides = [kept(piece.corners, s * slope, s * offset) for s in (1, -1)]
    if any(len(side) < 3 or area(side) <= _SLIVER for side in sides):
        return []
    return [np.array([end for end in sides[0] if abs(end @ slope + offset) < _SLIVER])]
