"""A violating input close to a centre: projected gradients, then exact steps inside ReLU cells.

What it finds is an upper bound of the minimal radius; nothing here proves that none is closer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from scipy.optimize import linprog

from assay.bounds.relu_network import Floats, ReluNetwork


@dataclass(frozen=True)
class NearViolation:
    """`point` is on or just beyond the boundary, at distance `radius`, in the cell of `cell`."""

    radius: float
    point: Floats
    cell: Floats


def lowest_margin(
    network: ReluNetwork,
    label: int,
    starts: Floats,
    box: tuple[Floats, Floats],
    steps: int,
) -> tuple[float, Floats]:
    """The lowest margin that signed gradient descent meets from `starts` inside a box."""
    lower, upper = box
    points = np.clip(starts, lower, upper)
    step = (upper - lower) / 5
    best, where = np.inf, points[0]
    for number in range(steps):
        margins, gradients = network.margin_gradients(points, label)
        index = int(margins.argmin())
        if margins[index] < best:
            best, where = float(margins[index]), points[index].copy()
        points = np.clip(points - step * 0.93**number * np.sign(gradients), lower, upper)
    return best, where


def nearest_violation(
    network: ReluNetwork, centre: Floats, label: int, draw: Generator, largest: float
) -> NearViolation | None:
    """A violation as close to `centre` as the search gets, or None within radius `largest`."""
    low, high, found = 0.0, largest, None
    for _ in range(14):
        radius = (low + high) / 2 if found is not None else high
        starts = centre + radius * draw.uniform(-1, 1, size=(48, len(centre)))
        if found is not None:
            starts[0] = found
        box = (centre - radius, centre + radius)
        margin, point = lowest_margin(network, label, starts, box, steps=60)
        if margin <= 0:
            found, high = point, float(np.abs(point - centre).max())
        elif found is None:
            return None
        else:
            low = radius
    assert found is not None
    return polished(network, centre, label, found)


def polished(network: ReluNetwork, centre: Floats, label: int, point: Floats) -> NearViolation:
    """Walk from cell to cell, each time to the cell's violating input nearest to the centre."""
    best = NearViolation(float(np.abs(point - centre).max()), point, point)
    for _ in range(40):
        moved = nearest_in_cell(network, centre, label, point)
        if moved is None or moved.radius >= best.radius * (1 - 1e-12):
            break
        best = moved
        # a nudge outwards lands in the neighbouring cell when the optimum is on a wall
        point = moved.point + 1e-7 * (moved.point - centre)
    return best


def nearest_in_cell(
    network: ReluNetwork, centre: Floats, label: int, point: Floats, depth: float = 0.0
) -> NearViolation | None:
    """The input nearest to the centre, in the ReLU cell of `point`, with margin <= -depth."""
    size = len(centre)
    slope, offset = np.eye(size), np.zeros(size)
    left, right = [], []
    values = network.preactivations(point[None])
    for weight, bias, value in zip(
        network.weights[:-1], network.biases[:-1], values[:-1], strict=True
    ):
        rows, constants = weight @ slope, weight @ offset + bias
        active = value[0] > 0
        sign = np.where(active, -1.0, 1.0)
        left.append(sign[:, None] * rows)
        right.append(-sign * constants)
        slope, offset = rows * active[:, None], constants * active
    outputs = values[-1][0].copy()
    outputs[label] = -np.inf
    rival = int(outputs.argmax())
    pull = network.weights[-1][label] - network.weights[-1][rival]
    left.append((pull @ slope)[None])
    constant = pull @ offset + network.biases[-1][label] - network.biases[-1][rival]
    right.append(np.array([-constant - depth]))
    cell = np.vstack(left)
    ball = np.hstack([np.vstack([np.eye(size), -np.eye(size)]), -np.ones((2 * size, 1))])
    result = linprog(
        np.r_[np.zeros(size), 1.0],
        A_ub=np.vstack([np.hstack([cell, np.zeros((len(cell), 1))]), ball]),
        b_ub=np.concatenate([*right, centre, -centre]),
        bounds=[(None, None)] * size + [(0, None)],
        method="highs",
    )
    if result.status != 0:
        return None
    return NearViolation(float(result.x[-1]), np.asarray(result.x[:-1]), point)
