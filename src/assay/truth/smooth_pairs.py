"""Smooth pairs: Sigmoid or Tanh units that share a response and differ by their bias.

Theorem. Let h be Sigmoid or Tanh. Two units of the last hidden layer compute h(s + b_i) and
h(s + c_i) of one response s, with b_i > c_i; one of them may be written with its weights negated,
since Tanh is odd and Sigmoid is, up to its middle. Their difference D_i(s) is positive, rises up to
s = -(b_i + c_i) / 2 and falls from there on. Class k scores g_k + sum_i v_ki D_i, so with
w_i = v_yi - v_ki and any interval [l_i, u_i] that holds the response over the box

  f_y - f_k >= g_y - g_k + sum over w_i > 0 of w_i min(D_i(l_i), D_i(u_i))
                         - sum over w_i < 0 of |w_i| max D_i over [l_i, u_i].

Whatever the layers before do, the first sum is not negative and the second one is bounded. The
biases g plant every rival at (1 + gamma) times what it can lose by this bound.

Bounds that treat the two units of a pair apart lose far more than a difference of them is worth:
smaller delta, wider responses and deeper backbones make it worse, and there is no phase to split
on. The twin gives one rival less than a corner of the box takes from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.random import Generator
from pydantic import Field, model_validator

from assay.errors import CannotCertify
from assay.proof.rules.smooth_pairs import least_excesses
from assay.truth.cnn_design import Floats
from assay.truth.constructor import Constructor, Knobs
from assay.truth.dyadic import (
    as_written,
    float32_at_least,
    float32_at_most,
    leading_exponent,
    nearest,
    power,
    radius,
)
from assay.truth.instance import Instance
from assay.truth.planted_head import Plan, planted
from assay.truth.randomness import Integers, centre, generator, signed
from assay.truth.smooth_design import Activation, Layer, SmoothLayers

FAMILY = "smooth_pairs"
_HIGHEST_WEIGHT = 15
_BIAS_BITS = 12
_MOST_WEIGHTS = 1 << 18
_STARTS = 6
_ROOT = Fraction(181, 128)
"""About the square root of 2."""


class SmoothPairsKnobs(Knobs):
    inputs: int = Field(12, ge=1, le=1_000, description="number of inputs")
    classes: int = Field(5, ge=2, le=100, description="number of classes")
    pairs: int = Field(12, ge=1, le=256, description="number of pairs of units P")
    backbone: int = Field(2, ge=0, le=4, description="dense layers before the pairs")
    width: int = Field(16, ge=1, le=256, description="units of a backbone layer")
    activation: Activation = Field("sigmoid", description="the function after every hidden layer")
    epsilon: float = Field(0.05, ge=1e-4, le=0.5, description="l_inf radius of the box")
    reach: float = Field(
        3.0, ge=0.1, le=20, description="about how far a unit's response moves over the box"
    )
    delta: float = Field(0.25, ge=1e-3, le=10, description="half of the gap between two biases")
    gamma: float = Field(
        0.05, ge=1e-6, le=100, description="certified margin over the certified drop"
    )
    against: float = Field(
        0.25, ge=0, le=0.9, description="share of the pairs that count against the label"
    )
    placement: Literal["response", "spread"] = Field(
        "response", description="pairs are widest at the centre, or up to half a reach off"
    )
    negated: bool = Field(True, description="write one unit of about half of the pairs negated")

    @model_validator(mode="after")
    def _can_be_certified(self) -> SmoothPairsKnobs:
        sizes = [self.inputs, *[self.width] * self.backbone, 2 * self.pairs, self.classes]
        weights = sum(a * b for a, b in zip(sizes, sizes[1:], strict=False))
        if weights > _MOST_WEIGHTS:
            raise ValueError(
                f"{weights} weights are more than {_MOST_WEIGHTS}; lower inputs, width, backbone, "
                "pairs or classes"
            )
        return self


@dataclass(frozen=True)
class Rows:
    """Weight rows whose responses move by about the reach, and the responses at the centre."""

    weights: Floats
    responses: tuple[Fraction, ...]


@dataclass(frozen=True)
class Pairs:
    """Where in the layer the two units of each pair lie, and which second units are negated."""

    seats: Integers
    signs: Integers

    def layer(self, weights: Floats, biases: tuple[list[Fraction], list[Fraction]]) -> Layer:
        matrix = np.empty((2 * len(weights), weights.shape[1]), np.float32)
        offsets = np.empty(2 * len(weights), np.float32)
        for seat, sign, values in zip(self.seats, (1, self.signs), biases, strict=True):
            matrix[seat] = (weights.T * sign).T
            offsets[seat] = sign * np.array([float(v) for v in values])
        return matrix, offsets

    def readout(self, weights: Integers) -> np.ndarray:
        """Weights [class, pair] of differences as weights of units, scaled to about an average."""
        scale = float(power(-((weights.shape[1] - 1).bit_length() + 3)))
        columns = np.empty((len(weights), 2 * weights.shape[1]), np.float32)
        columns[:, self.seats[0]] = weights * scale
        columns[:, self.seats[1]] = weights * -self.signs * scale
        return columns


def make(knobs: SmoothPairsKnobs, seed: int) -> list[Instance]:
    draw = generator(FAMILY, knobs, seed)
    middle = centre(draw, knobs.inputs)
    label = int(draw.integers(knobs.classes))
    epsilon = radius(knobs.epsilon)
    point = np.array([float(v) for v in middle])
    body = SmoothLayers(knobs.activation)
    for _ in range(knobs.backbone):
        rows = _rows(draw, knobs, body, point, knobs.width)
        shifts = _shifts(draw, knobs, knobs.width)
        bias = [float(s - r) for s, r in zip(shifts, rows.responses, strict=True)]
        body = body.then((rows.weights.astype(np.float32), np.array(bias, np.float32)))
    rows = _rows(draw, knobs, body, point, knobs.pairs)
    pairs = _pairs(draw, knobs)
    body = body.then(pairs.layer(rows.weights, _biases(draw, knobs, rows)))
    sides = draw.integers(0, 2, (_STARTS, knobs.inputs)) * 2 - 1
    starts = tuple(
        tuple(c + int(s) * epsilon for c, s in zip(middle, row, strict=True)) for row in sides
    )
    return planted(
        Plan(
            FAMILY,
            knobs.model_dump(mode="json"),
            seed,
            (knobs.inputs,),
            body.add_to,
            pairs.readout(_weights(draw, knobs, label)),
            middle,
            epsilon,
            label,
            1 + as_written(knobs.gamma),
            "gamma",
            rule=FAMILY,
            least_excesses=least_excesses,
            remedy="raise reach or use fewer pairs",
            shifted=False,
            starts=starts,
        )
    )


def _rows(
    draw: Generator, knobs: SmoothPairsKnobs, body: SmoothLayers, point: Floats, units: int
) -> Rows:
    """Random rows, each scaled by what the corners that its gradient names do to it."""
    fan_in = knobs.width if body.layers else knobs.inputs
    numerators = signed(draw, _HIGHEST_WEIGHT, (units, fan_in)).astype(np.float64)
    step = float(radius(knobs.epsilon)) * np.sign(body.gradients(point, numerators))
    corners = np.concatenate([point + step, point - step, point[None]])
    features = body.features(corners)[-1]
    ends = [(row @ numerators.T).diagonal() for row in (features[:units], features[units:-1])]
    middle = numerators @ features[-1]
    weights, responses = [], []
    for row, at_centre, *at_ends in zip(numerators, middle, *ends, strict=True):
        moved = max(abs(Fraction(float(end)) - Fraction(float(at_centre))) for end in at_ends)
        if moved == 0:
            raise CannotCertify(f"{FAMILY}: a unit does not move over the box; raise epsilon")
        scale = power(leading_exponent(as_written(knobs.reach) / moved * _ROOT))
        weights.append(row * float(scale))
        responses.append(nearest(Fraction(float(at_centre)) * scale, -_BIAS_BITS))
    return Rows(np.array(weights), tuple(responses))


def _shifts(draw: Generator, knobs: SmoothPairsKnobs, count: int) -> list[Fraction]:
    """Up to half a reach to either side, on the grid of biases."""
    half = as_written(knobs.reach) / 2
    return [nearest(half * int(n) / 64, -_BIAS_BITS) for n in draw.integers(-64, 65, count)]


def _biases(
    draw: Generator, knobs: SmoothPairsKnobs, rows: Rows
) -> tuple[list[Fraction], list[Fraction]]:
    gap = as_written(knobs.delta)
    middles = rows.responses
    if knobs.placement == "spread":
        shifts = _shifts(draw, knobs, knobs.pairs)
        middles = tuple(m + s for m, s in zip(middles, shifts, strict=True))
    return [float32_at_least(gap - m) for m in middles], [float32_at_most(-gap - m) for m in middles]


def _pairs(draw: Generator, knobs: SmoothPairsKnobs) -> Pairs:
    seats = draw.permutation(2 * knobs.pairs).reshape(2, knobs.pairs)
    signs = np.where(draw.integers(0, 2, knobs.pairs) == 1, -1, 1)
    return Pairs(seats, signs if knobs.negated else np.ones_like(signs))


def _weights(draw: Generator, knobs: SmoothPairsKnobs, label: int) -> Integers:
    """Integers [class, pair]: the label's are the highest, or the lowest where a pair is against."""
    weights = draw.integers(-7, 7, size=(knobs.classes, knobs.pairs), endpoint=True)
    weights[label] = draw.integers(8, 15, size=knobs.pairs, endpoint=True)
    count = min(round(as_written(knobs.against) * knobs.pairs), knobs.pairs - 1)
    weights[label, draw.permutation(knobs.pairs)[:count]] *= -1
    return weights


CONSTRUCTOR = Constructor(
    name=FAMILY,
    summary="sigmoid or tanh units in pairs that share their weights, behind smooth layers",
    theorem="the difference of two shifted sigmoids is positive, and least at an end of a range",
    knobs=SmoothPairsKnobs,
    make=make,
)
