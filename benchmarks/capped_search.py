"""What breaks capped plants: search on the argument of the bump, which no gradient leads through.

    python benchmarks/capped_search.py [--seeds 5]

Whoever knows which unit is the bump tries 100 values of one input after another, keeps the best,
and starts anew where nothing has helped for a while. Printed for each seed: queries until the plant
is hit, or - after a million. Ten seconds on one core.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.random import Generator, default_rng

from assay.truth.planting.concave import rotated_box, simplex, soft_box
from assay.truth.planting.matrices import Matrix
from assay.truth.planting.placement import Site
from assay.truth.planting.plant import Plant, capped
from assay.truth.planting.tent import tent

Grown = Callable[[Generator, Site], Plant]
EPSILON = Fraction(1, 8)
MOST = 1_000_000
VALUES = 100
PATIENCE = 30
PLANTS: dict[str, tuple[Grown, Fraction]] = {
    "soft_box": (soft_box, Fraction(1, 10)),
    "tent": (partial(tent, folds=2), Fraction(1, 10)),
    "rotated_box": (rotated_box, Fraction(1, 5)),
    "simplex": (simplex, Fraction(1, 5)),
}


def argument(plant: Plant, points: Matrix) -> Matrix:
    for weight, bias in plant.violated[:-1]:
        points = np.maximum(points @ weight.T + bias, 0)
    weight, bias = plant.violated[-1]
    found: Matrix = (points @ weight.T + bias)[:, 0]
    return found


def queries(plant: Plant, inputs: int, draw: Generator) -> int | None:
    """How many it takes to reach the bound; None if a million are not enough."""
    bound, radius, used = float(plant.heights.bound), float(EPSILON), 0
    while used < MOST:
        point, best, stale = draw.uniform(-radius, radius, inputs), -np.inf, 0
        while stale < PATIENCE:
            tried = np.repeat(point[None], VALUES, axis=0)
            tried[:, draw.integers(inputs)] = draw.uniform(-radius, radius, VALUES)
            values = argument(plant, tried)
            used += VALUES
            if values.max() >= bound:
                return used
            stale = 0 if values.max() > best else stale + 1
            if values.max() >= best:
                point, best = tried[values.argmax()], values.max()
    return None


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--seeds", type=int, default=5)
    seeds = options.parse_args().seeds
    for name, (grown, width) in PLANTS.items():
        for inputs in (10, 16, 25):
            half, zero = Fraction(1, 2), Fraction(0)
            middle = (zero,) * inputs
            site = Site(middle, EPSILON, width, "inside", zero, False, half, half)
            plants = [grown(default_rng(seed), site) for seed in range(seeds)]
            found = [
                queries(capped(plant, plant.heights.level), inputs, default_rng(100 + seed))
                for seed, plant in enumerate(plants)
            ]
            print(name, inputs, *(used or "-" for used in found), flush=True)


if __name__ == "__main__":
    main()
