"""Centres, labels and counterexamples of one training, on a dyadic grid (paper's section 3.3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from assay.errors import BadInput
from assay.truth.training.architectures import ARCHITECTURES, input_shape, size
from assay.truth.training.settings import Schedule, Setting

GRID = 2.0**-20
"""Centres, radius and counterexamples are multiples of it: exact in float32 and as decimals."""
_MOST_TRIED = 100_000
Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]


@dataclass(frozen=True)
class Examples:
    """The first `len(targets)` of the centres have a counterexample, the others are regular."""

    epsilon: float
    centres: Floats
    labels: NDArray[np.int64]
    targets: NDArray[np.int64]
    counterexamples: Floats


def drawn(schedule: Schedule, setting: Setting) -> Examples:
    draw = np.random.default_rng([setting.seed, 0x5B])
    shape = input_shape(ARCHITECTURES[schedule.architecture], schedule.channels)
    epsilon = round(setting.epsilon * schedule.span / GRID) * GRID
    if epsilon <= 0:
        raise BadInput(f"epsilon {setting.epsilon:g} is below {GRID:g}, the grid; raise it")
    centres = _apart(draw, 2 * schedule.examples, size(shape), schedule.span, epsilon)
    labels = draw.integers(schedule.classes, size=2 * schedule.examples)
    other = draw.integers(1, schedule.classes, size=schedule.examples)
    targets = (labels[: schedule.examples] + other) % schedule.classes
    steps = round(epsilon / GRID)
    least = int(np.ceil(setting.shell * steps))
    away = draw.integers(least, steps + 1, size=(schedule.examples, size(shape)))
    signs = draw.choice((-1, 1), size=away.shape)
    counterexamples = centres[: schedule.examples] + away * signs * GRID
    return Examples(
        epsilon,
        centres.astype(np.float32),
        labels,
        targets,
        counterexamples.astype(np.float32),
    )


def _apart(draw: Generator, count: int, inputs: int, span: float, epsilon: float) -> Doubles:
    """Centres whose boxes do not meet."""
    chosen, found = np.empty((count, inputs)), 0
    for _ in range(_MOST_TRIED):
        centre = np.round(draw.uniform(-span, span, inputs) / GRID) * GRID
        if (np.abs(centre - chosen[:found]).max(1) > 2 * epsilon).all():
            chosen[found] = centre
            found += 1
            if found == count:
                return chosen
    raise BadInput(
        f"no {count} boxes of radius {epsilon:g} that do not meet fit into {inputs} inputs of "
        f"[-{span:g}, {span:g}]; lower epsilon or examples"
    )
