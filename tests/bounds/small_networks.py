"""Tiny ReLU networks and their exact behaviour by brute force over all activation patterns."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product

import numpy as np
from scipy.optimize import linprog

from assay.bounds.relu_network import Bounds, Floats, ReluNetwork
from assay.truth.certified_radius import Subject
from assay.truth.random_networks import random_layers


def drawn(seed: int, sizes: tuple[int, ...]) -> Subject:
    """A random network with a centre on a dyadic grid and the label that it gives there."""
    layers, centre = random_layers(np.random.default_rng(seed), sizes, 4)
    point = np.array([[float(c) for c in centre]])
    label = int(ReluNetwork.of(layers).preactivations(point)[-1][0].argmax())
    return Subject(layers, centre, label)


def box(subject: Subject, radius: float) -> Bounds:
    return subject.box(Fraction(radius))


def least_margin(subject: Subject, rival: int, region: Bounds) -> float:
    """The minimum of label minus rival over a box: one linear programme a cell."""
    best = np.inf
    for rows, constants, pull, offset in _cells(subject, rival):
        bounds = list(zip(*region, strict=True))
        found = linprog(pull, A_ub=rows, b_ub=constants, bounds=bounds, method="highs")
        if found.status == 0:
            best = min(best, found.fun + offset)
    return float(best)


def least_radius(subject: Subject, rival: int) -> float:
    """The l_inf distance from the centre to where the rival draws level: one programme a cell."""
    centre, size = subject.floats(), len(subject.centre)
    ball = np.hstack([np.vstack([np.eye(size), -np.eye(size)]), -np.ones((2 * size, 1))])
    best = np.inf
    for rows, constants, pull, offset in _cells(subject, rival):
        left = np.vstack([rows, pull])
        found = linprog(
            np.r_[np.zeros(size), 1.0],
            A_ub=np.vstack([np.hstack([left, np.zeros((len(left), 1))]), ball]),
            b_ub=np.concatenate([constants, [-offset], centre, -centre]),
            bounds=[(None, None)] * size + [(0, None)],
            method="highs",
        )
        if found.status == 0:
            best = min(best, found.fun)
    return float(best)


def _cells(subject: Subject, rival: int) -> Iterator[tuple[Floats, Floats, Floats, float]]:
    """For each pattern: its cell (rows x <= constants), and the margin there, pull x + offset."""
    network = subject.network()
    weights, biases = network.weights, network.biases
    for pattern in product((0.0, 1.0), repeat=sum(network.hidden)):
        active = np.split(np.array(pattern), np.cumsum(network.hidden)[:-1])
        slope, offset = np.eye(len(subject.centre)), np.zeros(len(subject.centre))
        rows, constants = [], []
        for weight, bias, on in zip(weights[:-1], biases[:-1], active, strict=True):
            slope, offset = weight @ slope, weight @ offset + bias
            sign = 1 - 2 * on
            rows.append(sign[:, None] * slope)
            constants.append(-sign * offset)
            slope, offset = slope * on[:, None], offset * on
        pull = weights[-1][subject.label] - weights[-1][rival]
        constant = pull @ offset + biases[-1][subject.label] - biases[-1][rival]
        yield np.vstack(rows), np.concatenate(constants), pull @ slope, float(constant)
