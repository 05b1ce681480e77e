"""Mutually exclusive activation patterns: paired units of which one must be active.

Theorem. Pair p has z1 = w_p x + b_p1 and z2 = -w_p x + b_p2, so z1 + z2 = b_p1 + b_p2 for every
x, and r_p(x) = max(relu(z1), relu(z2)) >= (z1 + z2) / 2 = (b_p1 + b_p2) / 2. With
(b_p1 + b_p2) / 2 >= theta + gamma for all pairs, f_y = min_p r_p - theta >= gamma, while
f_k = -o_k <= 0: the margin is at least gamma. Equality of r_p holds where z1 = z2; lowering one
pair to theta - gamma therefore makes f_y <= -gamma at that pair's kink, the twin's witness.

Everything is a short dyadic number, so the sums are exact in float32 biases. Each unit of each
pair is unstable: both signs occur on the box, which is checked exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from pydantic import Field, model_validator

from assay.errors import BadInput
from assay.question.floaterror import Layer
from assay.question.property import Violation
from assay.question.region import Box
from assay.truth.assemble import Design, robust_instance, violated_instance
from assay.truth.constructor import Constructor, Knobs
from assay.truth.dyadic import as_written, is_float32, leading_exponent, power, radius
from assay.truth.instance import Instance
from assay.truth.randomness import Integers, centre, generator, signed

FAMILY = "meap"
_MOST_WEIGHTS = 1 << 20
_COARSEST = 64
"""gamma is at least this many steps of its grid, so that rounding it up adds at most 1/64."""


class MeapKnobs(Knobs):
    inputs: int = Field(100, ge=1, le=10_000, description="number of inputs")
    classes: int = Field(10, ge=2, le=1_000, description="number of classes")
    pairs: int = Field(16, ge=2, le=1_024, description="number of ReLU pairs P")
    epsilon: float = Field(0.1, ge=0.01, le=1, description="l_inf radius of the box")
    gamma: float = Field(
        1e-3, ge=1e-12, le=1e6, description="certified margin, rounded up to a grid"
    )
    instability: float = Field(
        1.5,
        ge=1.05,
        le=1e3,
        description="least half-range of a pair's pre-activation over the pair's level",
    )

    @model_validator(mode="after")
    def _can_be_certified(self) -> MeapKnobs:
        if self.pairs * self.inputs > _MOST_WEIGHTS:
            raise ValueError(
                f"{self.pairs} pairs of {self.inputs} inputs are more than {_MOST_WEIGHTS} weights"
            )
        return self


@dataclass(frozen=True)
class Pair:
    """z1 = w x + level - kink, z2 = -w x + level + kink; w = numerators times 2^scale.

    z1 = z2 = level at the centre moved by `shift` steps of the kinks' grid; on the box w x is
    within `half_range` of its value at the centre, kink - offset.
    """

    numerators: Integers
    scale: int
    shift: Integers
    kink: Fraction
    offset: Fraction
    half_range: Fraction
    level: Fraction

    @property
    def biases(self) -> tuple[Fraction, Fraction]:
        return self.level - self.kink, self.level + self.kink

    @property
    def unstable(self) -> bool:
        """Whether both pre-activations take both signs on the box."""
        middles = (self.level - self.offset, self.level + self.offset)
        return all(abs(middle) < self.half_range for middle in middles)


@dataclass(frozen=True)
class Levels:
    """The heights that decide the answer, all multiples of one power of two."""

    gamma: Fraction
    theta: Fraction
    pairs: tuple[Fraction, ...]
    offsets: tuple[Fraction, ...]


def make(knobs: MeapKnobs, seed: int) -> list[Instance]:
    draw = generator(FAMILY, knobs, seed)
    epsilon = radius(knobs.epsilon)
    middle = centre(draw, knobs.inputs)
    box = Box.around(middle, epsilon)
    label = int(draw.integers(knobs.classes))
    scale, amplitude = _direction_scale(knobs, epsilon)
    step = _kink_exponent(epsilon)
    levels = _levels(draw, knobs, power(scale + step - 2))
    pairs = [
        _pair(draw, knobs, middle, epsilon, level, (scale, amplitude, step))
        for level in levels.pairs
    ]
    weak = int(draw.integers(knobs.pairs))
    lowered = list(pairs)
    lowered[weak] = replace(pairs[weak], level=levels.theta - levels.gamma)
    _refuse_unfit(levels, (*pairs, lowered[weak]))
    witness = [m + int(s) * power(step) for m, s in zip(middle, pairs[weak].shift, strict=True)]

    def design(chosen: Sequence[Pair]) -> Design:
        layout = generator(FAMILY, knobs, seed, attempt=1)
        return Design(
            FAMILY,
            knobs.model_dump(mode="json"),
            seed,
            _network(layout, chosen, levels, label, knobs.classes),
            box,
            Violation.misclassification(label, knobs.classes),
            {
                "epsilon": str(epsilon),
                "gamma": str(levels.gamma),
                "theta": str(levels.theta),
            },
        )

    return [
        robust_instance(design(pairs), levels.gamma),
        violated_instance(design(lowered), witness),
    ]


def _refuse_unfit(levels: Levels, pairs: Sequence[Pair]) -> None:
    """Every bias must be a float32 number, and every unit unstable, as they stand."""
    biases = [bias for pair in pairs for bias in pair.biases]
    if not all(map(is_float32, (levels.theta, *levels.offsets, *biases))):
        raise BadInput(
            "meap: a bias does not fit float32 exactly; use fewer inputs or a larger epsilon"
        )
    if not all(pair.unstable for pair in pairs):
        raise BadInput("meap: a pair is stable on the box; raise instability or epsilon")


def _direction_scale(knobs: MeapKnobs, epsilon: Fraction) -> tuple[int, int]:
    """Exponent and largest integer of the weights for a mean half-range above the levels."""
    highest = 4 * as_written(knobs.gamma) * as_written(knobs.instability)
    largest_weight = 2 * highest / (epsilon * knobs.inputs)
    scale = leading_exponent(largest_weight) - 6
    return scale, ceil(largest_weight / power(scale))


def _kink_exponent(epsilon: Fraction) -> int:
    """The grid of the kinks: at least as fine as the centre's and eight steps to the border."""
    return min(-8, leading_exponent(epsilon / 8))


def _levels(draw: Generator, knobs: MeapKnobs, unit: Fraction) -> Levels:
    """theta = 2 gamma; levels from theta + gamma (attained) to theta + 2 gamma."""
    steps = ceil(as_written(knobs.gamma) / unit)
    if steps < _COARSEST:
        raise BadInput(
            f"meap: gamma = {knobs.gamma} is too fine for biases of this size; "
            "lower instability or raise inputs"
        )
    extra = draw.integers(0, steps, size=knobs.pairs, endpoint=True)
    extra[draw.integers(knobs.pairs)] = 0
    offsets = draw.integers(0, steps, size=knobs.classes - 1, endpoint=True)
    offsets[draw.integers(knobs.classes - 1)] = 0
    return Levels(
        gamma=steps * unit,
        theta=2 * steps * unit,
        pairs=tuple((3 * steps + int(e)) * unit for e in extra),
        offsets=tuple(int(o) * unit for o in offsets),
    )


def _pair(
    draw: Generator,
    knobs: MeapKnobs,
    middle: Sequence[Fraction],
    epsilon: Fraction,
    level: Fraction,
    grid: tuple[int, int, int],
) -> Pair:
    """A dense direction with its kink through a point of its own, away from the centre."""
    scale, amplitude, step = grid
    numerators = signed(draw, amplitude, (knobs.inputs,))
    reach = int(epsilon / power(step))
    lean = int(draw.integers(-(reach // 4), reach // 4, endpoint=True))
    noise = draw.integers(-(reach // 2), reach // 2, size=knobs.inputs, endpoint=True)
    shift = np.sign(numerators) * lean + noise
    wanted = level * as_written(knobs.instability)
    # Growing every |weight| by one raises the half-range until the pair is as unstable as asked.
    while True:
        offset = int(numerators @ shift) * power(scale + step)
        half_range = epsilon * int(np.abs(numerators).sum()) * power(scale)
        if half_range - abs(offset) >= wanted:
            break
        numerators = numerators + np.sign(numerators)
    at_centre = sum((int(n) * m for n, m in zip(numerators, middle, strict=True)), Fraction(0))
    kink = at_centre * power(scale) + offset
    return Pair(numerators, scale, shift, kink, offset, half_range, level)


def _network(
    layout: Generator, pairs: Sequence[Pair], levels: Levels, label: int, classes: int
) -> tuple[Layer, ...]:
    """Pairs, their maxima, then a tournament of minima; units in random order in each layer.

    max(a, c) = relu(a - c) + relu(c) and min(u, v) = relu(u) - relu(u - v) for nonnegative
    numbers. A value is kept as the row of signs that reads it from the layer before.
    """
    count = len(pairs)
    rows = np.array([p.numerators * float(power(p.scale)) for p in pairs])
    weights = np.concatenate([rows, -rows]).astype(np.float32)
    biases = np.array(
        [float(p.biases[i]) for i in (0, 1) for p in pairs],
        dtype=np.float32,
    )
    order = layout.permutation(2 * count)
    layers: list[Layer] = [(_placed(weights, order), _placed(biases, order))]
    active = np.eye(2 * count, dtype=np.float32)[order]
    first, second = active[:count], active[count:]
    layer, seats = _sign_layer(layout, np.concatenate([first - second, second]))
    layers.append(layer)
    values = seats[:count] + seats[count:]
    while len(values) > 1:
        values = values[layout.permutation(len(values))]
        half = len(values) // 2
        left, right, odd = values[:half], values[half : 2 * half], values[2 * half :]
        layer, seats = _sign_layer(layout, np.concatenate([left, left - right, odd]))
        layers.append(layer)
        values = np.concatenate([seats[:half] - seats[half : 2 * half], seats[2 * half :]])
    readout = np.zeros((classes, values.shape[1]), dtype=np.float32)
    readout[label] = values[0]
    heights = [-float(o) for o in levels.offsets]
    heights.insert(label, -float(levels.theta))
    layers.append((readout, np.array(heights, dtype=np.float32) + np.float32(0)))
    return tuple(layers)


def _sign_layer(layout: Generator, rows: NDArray[np.float32]) -> tuple[Layer, NDArray[np.float32]]:
    """A layer with these rows in random order, and the one-hot row that reads each of them."""
    order = layout.permutation(len(rows))
    layer = (_placed(rows, order), np.zeros(len(rows), dtype=np.float32))
    return layer, np.eye(len(rows), dtype=np.float32)[order]


def _placed(rows: NDArray[np.float32], order: NDArray[np.int64]) -> NDArray[np.float32]:
    """Row i of `rows` at position order[i]."""
    result = np.empty_like(rows)
    result[order] = rows
    return result


CONSTRUCTOR = Constructor(
    name=FAMILY,
    summary="paired ReLU units of which one is always active, under a minimum over all pairs",
    theorem="max(relu(z1), relu(z2)) >= (z1 + z2) / 2 = (b1 + b2) / 2 for every input",
    knobs=MeapKnobs,
    make=make,
)
