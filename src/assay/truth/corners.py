"""Input-corner stress: convex competitors whose maximum over the box is at a corner.

Theorem. f_y = 0 and f_k(x) = h_k(x) - beta_k with h_k(x) = sum_j c_kj relu(a_j x + b_j), c_kj >= 0.
h_k is convex, so on a box it is largest at a corner, and only the coordinates that some a_j uses
matter. With beta_k >= max over corners of h_k + gamma the margin is at least gamma. With one
beta_k below that maximum, the maximising corner is a counterexample: the twin's witness.

The maximum is exact: by enumeration of the 2^active corners, or with `window` by a dynamic
programme along the active coordinates, each hinge using `window` consecutive ones of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.random import Generator
from pydantic import Field, model_validator

from assay.errors import BadInput, CannotCertify
from assay.question.floaterror import Layer
from assay.question.property import Violation
from assay.question.region import Box
from assay.truth.assemble import Design, mlp_outputs, robust_instance, violated_instance
from assay.truth.constructor import Constructor, Knobs
from assay.truth.corner_maximum import MOST_VALUES, Hinges, corner_maxima
from assay.truth.dyadic import (
    CENTRE_BITS,
    RADIUS_BITS,
    as_written,
    float32_at_least,
    float32_at_most,
    is_float32,
    leading_exponent,
    power,
    radius,
)
from assay.truth.instance import Instance
from assay.truth.randomness import Integers, centre, generator, signed

FAMILY = "corners"
_HIGHEST_WEIGHT = 15
_MOST_WEIGHTS = 1 << 24


class CornersKnobs(Knobs):
    inputs: int = Field(100, ge=1, le=10_000, description="number of inputs")
    classes: int = Field(10, ge=2, le=1_000, description="number of classes")
    epsilon: float = Field(0.2, ge=1e-4, le=1, description="l_inf radius of the box")
    hinges: int = Field(256, ge=1, le=65_536, description="number of convex hinges J")
    hinge_l1: float = Field(1.0, ge=1e-8, le=1e12, description="mean l1 norm of a hinge's slope")
    active: int = Field(8, ge=1, le=10_000, description="coordinates that matter, d_act")
    window: int | None = Field(
        None, ge=1, le=20, description="consecutive active coordinates a hinge uses; null: all"
    )
    gamma: float | None = Field(
        None, gt=0, le=1e9, description="certified margin, at least; null: by gamma_share"
    )
    gamma_share: float = Field(
        0.02,
        ge=1e-6,
        le=10,
        description="certified margin over the steepest climb from the centre to a corner",
    )

    @property
    def width(self) -> int:
        """How many consecutive active coordinates a hinge uses."""
        return self.active if self.window is None else self.window

    @model_validator(mode="after")
    def _can_be_certified(self) -> CornersKnobs:
        if self.active > self.inputs:
            raise ValueError(f"active = {self.active} is more than inputs = {self.inputs}")
        if self.width > self.active:
            raise ValueError(f"window = {self.width} is more than active = {self.active}")
        if self.hinges * self.inputs > _MOST_WEIGHTS:
            raise ValueError(
                f"{self.hinges} hinges of {self.inputs} inputs: more than {_MOST_WEIGHTS} weights"
            )
        # the checker tabulates every hinge and every class over the corners of a window
        tables = self.hinges + (self.classes - 1) * (self.active - self.width + 1)
        if self.width > 20 or tables << self.width > MOST_VALUES:
            raise ValueError(
                f"{self.hinges} hinges and {self.classes} classes with 2^{self.width} corners "
                "each are too many to certify; set a window of about 8"
            )
        return self


@dataclass(frozen=True)
class Drawn:
    """Slopes are integers times 2^scale; offsets 2^(scale - 8); class weights 2^-weight_bits."""

    active: Integers
    hinges: Hinges
    scale: int
    weights: Integers
    weight_bits: int

    @property
    def unit(self) -> Fraction:
        """What one integer step of a weighted sum of hinges is worth at a corner."""
        return power(self.scale - RADIUS_BITS - self.weight_bits)


def make(knobs: CornersKnobs, seed: int) -> list[Instance]:
    draw = generator(FAMILY, knobs, seed)
    epsilon = radius(knobs.epsilon)
    middle = centre(draw, knobs.inputs)
    box = Box.around(middle, epsilon)
    label = int(draw.integers(knobs.classes))
    drawn = _draw(draw, knobs, middle, epsilon)
    ends = [_grid_integers([bound[i] for i in drawn.active]) for bound in (box.lower, box.upper)]
    lifted = Hinges(
        drawn.hinges.slopes,
        drawn.hinges.offsets << (RADIUS_BITS - CENTRE_BITS),
        drawn.hinges.starts,
    )
    sums, corners = corner_maxima(lifted, drawn.weights, ends[0], ends[1])
    maxima = [total * drawn.unit for total in sums]
    hidden = _hidden_layer(knobs.inputs, drawn)
    nominal = mlp_outputs(
        (hidden, _output_layer(drawn, [Fraction(0)] * len(maxima), label)), middle
    )
    del nominal[label]
    climbs = [maximum - value for maximum, value in zip(maxima, nominal, strict=True)]
    gamma = _margin(knobs, climbs)
    betas = [float32_at_least(maximum + gamma) for maximum in maxima]

    def design(thresholds: Sequence[Fraction]) -> Design:
        return Design(
            FAMILY,
            knobs.model_dump(mode="json"),
            seed,
            (hidden, _output_layer(drawn, thresholds, label)),
            box,
            Violation.misclassification(label, knobs.classes),
            {"epsilon": str(epsilon), "hinge_l1_max": str(_largest_l1(drawn))},
        )

    steep = max(range(len(climbs)), key=climbs.__getitem__)
    lowered = list(betas)
    # The twin keeps the centre right wherever the climb allows it.
    depth = min(gamma, climbs[steep] / 2) if climbs[steep] > 0 else gamma
    lowered[steep] = float32_at_most(maxima[steep] - depth)
    witness = list(middle)
    for position, high in zip(drawn.active, corners[steep], strict=True):
        witness[position] = (box.upper if high else box.lower)[position]
    return [
        robust_instance(design(betas), min(b - m for b, m in zip(betas, maxima, strict=True))),
        violated_instance(design(lowered), witness),
    ]


def _margin(knobs: CornersKnobs, climbs: Sequence[Fraction]) -> Fraction:
    """The margin asked for; `climbs` is how far each competitor rises to its best corner."""
    if knobs.gamma is not None:
        return as_written(knobs.gamma)
    if max(climbs) <= 0:
        raise CannotCertify("corners: no competitor rises above its value at the centre")
    return as_written(knobs.gamma_share) * max(climbs)


def _draw(
    draw: Generator, knobs: CornersKnobs, middle: Sequence[Fraction], epsilon: Fraction
) -> Drawn:
    width = knobs.width
    active = np.sort(draw.choice(knobs.inputs, size=knobs.active, replace=False))
    largest = 2 * as_written(knobs.hinge_l1) / width
    scale = leading_exponent(largest) - 6
    slopes = signed(draw, round(largest / power(scale)), (knobs.hinges, width))
    # Every window gets its share of the hinges, in random order.
    count = knobs.active - width + 1
    starts = draw.permutation(np.arange(knobs.hinges) * count // knobs.hinges)
    numerators = np.array([int(middle[i] * (1 << CENTRE_BITS)) for i in active])
    at_centre = (slopes * numerators[starts[:, None] + np.arange(width)]).sum(axis=1)
    # The kink may be off the centre by a quarter of the way to the hinge's ends.
    reach = [int(epsilon * int(n) * (1 << CENTRE_BITS) / 4) for n in np.abs(slopes).sum(axis=1)]
    shift = draw.integers(-np.array(reach), np.array(reach), endpoint=True)
    weight_bits = (knobs.hinges - 1).bit_length() + 3
    weights = draw.integers(
        0, _HIGHEST_WEIGHT, size=(knobs.classes - 1, knobs.hinges), endpoint=True
    )
    return Drawn(active, Hinges(slopes, shift - at_centre, starts), scale, weights, weight_bits)


def _grid_integers(values: Sequence[Fraction]) -> Integers:
    return np.array([int(value * (1 << RADIUS_BITS)) for value in values])


def _largest_l1(drawn: Drawn) -> Fraction:
    return int(np.abs(drawn.hinges.slopes).sum(axis=1).max()) * power(drawn.scale)


def _hidden_layer(inputs: int, drawn: Drawn) -> Layer:
    hinges, unit = drawn.hinges, power(drawn.scale - CENTRE_BITS)
    extremes = (int(hinges.offsets.min()), int(hinges.offsets.max()))
    # Integers below 2^24 times a power of two are float32 as long as the power is one.
    if max(map(abs, extremes)) >= 1 << 24 or not is_float32(unit):
        raise BadInput("corners: a hinge's bias does not fit float32 exactly; use a smaller window")
    weight = np.zeros((len(hinges.slopes), inputs), dtype=np.float32)
    columns = drawn.active[hinges.starts[:, None] + np.arange(hinges.window)]
    slopes = hinges.slopes.astype(np.float64) * float(power(drawn.scale))
    np.put_along_axis(weight, columns, slopes.astype(np.float32), axis=1)
    return weight, (hinges.offsets.astype(np.float64) * float(unit)).astype(np.float32)


def _output_layer(drawn: Drawn, betas: Sequence[Fraction], label: int) -> Layer:
    weight = drawn.weights.astype(np.float64) * float(power(-drawn.weight_bits))
    bias = [-float(beta) for beta in betas]
    return (
        np.insert(weight, label, 0.0, axis=0).astype(np.float32),
        np.insert(np.array(bias), label, 0.0).astype(np.float32),
    )


CONSTRUCTOR = Constructor(
    name=FAMILY,
    summary="one layer of unstable hinges whose convex sums are largest at a corner of the box",
    theorem="a convex function on a box is largest at a corner",
    knobs=CornersKnobs,
    make=make,
)
