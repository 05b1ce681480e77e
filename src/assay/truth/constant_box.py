"""Constant on the box: a layer that is zero on the whole box, then any network at all.

Theorem. If every unit of one hidden layer is zero on the box, then whatever follows sees one
point only, and the outputs are constant there: f(x) = psi(0) for all x of the box. The margin
of psi(0), evaluated exactly, is the margin everywhere. See `assay.truth.collapse` for the two
ways to make such a layer and why they are exact.

The twin moves one threshold inside, so that one unit opens at a known corner of the box by just
enough to flip the label there. Sides and heights are searched in floats; the answer is decided
by exact evaluation at that corner.

The layers after it are dense with random signed weights: bounds that leave the sides open see a
wide set of activations at their entrance, and lose everything over the depth.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import Literal

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from pydantic import Field, model_validator

from assay.errors import CannotCertify
from assay.question.floaterror import Layer
from assay.question.property import Violation
from assay.question.region import Box
from assay.truth.assemble import Design, mlp_outputs, robust_instance, violated_instance
from assay.truth.collapse import GATE_HINGES, Collapse, Side, gate_collapse, hinge_collapse
from assay.truth.constructor import Constructor, Knobs
from assay.truth.dyadic import as_written, float32_at_most, radius
from assay.truth.instance import Instance
from assay.truth.randomness import centre, generator

FAMILY = "constant_box"
_WEIGHT_BITS = 16
_ATTEMPTS = 8
_MOST_WEIGHTS = 1 << 25
_LEAKS = tuple(Fraction(n, 256) for n in (1, 2, 4, 8, 16, 32, 64, 96, 128, 160, 192, 224))
"""Heights of a leak as shares of what keeps the side shut at the centre."""


class ConstantBoxKnobs(Knobs):
    inputs: int = Field(100, ge=6, le=10_000, description="number of inputs")
    classes: int = Field(10, ge=2, le=1_000, description="number of classes")
    epsilon: float = Field(0.1, ge=1e-3, le=1, description="l_inf radius of the box")
    depth: int = Field(5, ge=1, le=200, description="hidden layers after the collapse")
    width: int = Field(256, ge=1, le=2_048, description="units of each of these layers")
    collapse: Literal["gates", "hinges"] = Field(
        "gates", description="gates: open to linear bounds; hinges: the paper's, seen by intervals"
    )
    latent: int = Field(32, ge=1, le=1_024, description="number of gates (hinges: two an input)")
    gamma: float = Field(0.01, ge=1e-9, le=1e6, description="certified margin, at least")
    eta: float = Field(1e-3, ge=1e-6, le=0.05, description="how far below zero the sides stay")
    gain: float = Field(4.0, ge=0.01, le=64, description="scale of the weights behind the sides")

    @model_validator(mode="after")
    def _can_be_certified(self) -> ConstantBoxKnobs:
        if self.collapse == "gates":
            sides, front = self.latent, self.latent * GATE_HINGES * (self.inputs + self.latent)
        else:
            sides, front = 2 * self.inputs, 2 * self.inputs**2
        weights = front + self.width * (self.width * (self.depth - 1) + sides + self.classes)
        if weights > _MOST_WEIGHTS:
            raise ValueError(
                f"{weights} weights are more than {_MOST_WEIGHTS}; lower depth, width or inputs"
            )
        return self


@dataclass(frozen=True)
class Downstream:
    """The dense layers behind the sides; the last one's bias decides the margin."""

    hidden: tuple[Layer, ...]
    readout: NDArray[np.float32]

    def layers(self, bias: NDArray[np.float32]) -> tuple[Layer, ...]:
        return (*self.hidden, (self.readout, bias))


def make(knobs: ConstantBoxKnobs, seed: int) -> list[Instance]:
    for attempt in range(_ATTEMPTS):
        made = _attempt(knobs, seed, generator(FAMILY, knobs, seed, attempt))
        if made is not None:
            return made
    raise CannotCertify(
        f"constant_box: in {_ATTEMPTS} draws no single leak flips the label; "
        "lower gamma or raise gain"
    )


def _attempt(knobs: ConstantBoxKnobs, seed: int, draw: Generator) -> list[Instance] | None:
    epsilon, eta = radius(knobs.epsilon), as_written(knobs.eta)
    middle = centre(draw, knobs.inputs)
    box = Box.around(middle, epsilon)
    label = int(draw.integers(knobs.classes))
    if knobs.collapse == "gates":
        front = gate_collapse(draw, middle, box, eta, knobs.latent)
    else:
        front = hinge_collapse(middle, box, eta)
    latent = len(front.sides)
    behind = _downstream(draw, knobs, latent)
    nothing = np.zeros(knobs.classes, dtype=np.float32)
    scores = mlp_outputs(behind.layers(nothing), [Fraction(0)] * latent)
    offsets = _offsets(draw, knobs, scores, label)
    margin = min(
        scores[label] - score - offset
        for k, (score, offset) in enumerate(zip(scores, offsets, strict=True))
        if k != label
    )
    after = behind.layers(np.array([float(o) for o in offsets], dtype=np.float32))
    leak = _smallest_leak(front, after, label, knobs.gamma)
    if leak is None:
        return None

    shut = {len(front.before): [side.peak + side.bias for side in front.sides]}

    def design(
        layers: tuple[Layer, ...], tops: Mapping[int, Sequence[Fraction]] | None = None
    ) -> Design:
        return Design(
            FAMILY,
            knobs.model_dump(mode="json"),
            seed,
            layers,
            box,
            Violation.misclassification(label, knobs.classes),
            {"epsilon": str(epsilon)},
            tops or {},
        )

    return [
        robust_instance(design((*front.layers(), *after), shut), margin),
        violated_instance(design((*front.layers(leak), *after)), leak[1].corner),
    ]


def _downstream(draw: Generator, knobs: ConstantBoxKnobs, latent: int) -> Downstream:
    sizes = [latent, *[knobs.width] * knobs.depth]
    hidden = [
        (
            _dense(draw, units, fan_in, as_written(knobs.gain) if first else Fraction(1)),
            _on_grid(draw.integers(-reach, reach, size=units, endpoint=True)),
        )
        for fan_in, units, first, reach in zip(
            sizes,
            sizes[1:],
            [True] + [False] * knobs.depth,
            [1 << (_WEIGHT_BITS - 1)] + [1 << (_WEIGHT_BITS - 3)] * knobs.depth,
            strict=False,
        )
    ]
    return Downstream(tuple(hidden), _dense(draw, knobs.classes, knobs.width, Fraction(1)))


def _dense(draw: Generator, units: int, fan_in: int, gain: Fraction) -> NDArray[np.float32]:
    """Uniform weights of variance 2 gain^2 / fan_in (He), on a grid that keeps exact sums short."""
    reach = max(int(gain * isqrt((6 << (2 * _WEIGHT_BITS)) // fan_in)), 1)
    return _on_grid(draw.integers(-reach, reach, size=(units, fan_in), endpoint=True))


def _on_grid(numerators: NDArray[np.int64]) -> NDArray[np.float32]:
    """Integers below 2^24 times 2^-16: exact in float32."""
    return (numerators * 2.0**-_WEIGHT_BITS).astype(np.float32)


def _offsets(
    draw: Generator, knobs: ConstantBoxKnobs, scores: Sequence[Fraction], label: int
) -> list[Fraction]:
    """Output biases that leave every competitor its own room, the smallest being gamma."""
    gamma = as_written(knobs.gamma)
    extra = draw.integers(1, 64, size=knobs.classes, endpoint=True)
    closest = (label + 1 + int(draw.integers(knobs.classes - 1))) % knobs.classes
    extra[closest] = 0
    rooms = [gamma * (1 + Fraction(int(e), 16)) for e in extra]
    offsets = [
        float32_at_most(scores[label] - score - room)
        for score, room in zip(scores, rooms, strict=True)
    ]
    offsets[label] = Fraction(0)
    return offsets


def _smallest_leak(
    front: Collapse, after: Sequence[Layer], label: int, gamma: float
) -> tuple[int, Side] | None:
    """The side that flips the label most, at the lowest height at which one flips it by gamma."""
    climbs = [side.peak - side.nominal for side in front.sides]
    for share in _LEAKS:
        heights = np.diag([float(share * climb) for climb in climbs])
        margins = _float_margins(after, heights, label)
        side = int(margins.argmin())
        if margins[side] <= -gamma:
            return side, front.sides[side].leaking(share * climbs[side])
    return None


def _float_margins(
    layers: Sequence[Layer], points: NDArray[np.float64], label: int
) -> NDArray[np.float64]:
    """Margins at many points at once, in float64: a search, not a decision."""
    values = points
    for position, (weight, bias) in enumerate(layers):
        if position:
            values = np.maximum(values, 0)
        values = values @ weight.astype(np.float64).T + bias
    rivals = np.delete(values, label, axis=1).max(axis=1)
    margins: NDArray[np.float64] = values[:, label] - rivals
    return margins


CONSTRUCTOR = Constructor(
    name=FAMILY,
    summary="a layer that is zero on the whole box, followed by a deep dense network",
    theorem="a network behind a layer that is zero on the box is constant there",
    knobs=ConstantBoxKnobs,
    make=make,
)
