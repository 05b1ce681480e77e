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
from itertools import pairwise
from operator import add
from typing import Literal

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from pydantic import Field, model_validator

from assay.errors import CannotCertify
from assay.proof.rules.smooth_pairs import least_excesses
from assay.truth.constructor import Constructor, Knobs
from assay.truth.corner_search import Floats
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
        0.25, ge=0, le=0.5, description="share of the pairs that count against the label"
    )
    placement: Literal["response", "spread"] = Field(
        "response", description="pairs are widest at the centre, or up to half a reach off"
    )
    negated: bool = Field(True, description="write one unit of about half of the pairs negated")

    @model_validator(mode="after")
    def _can_be_certified(self) -> SmoothPairsKnobs:
        sizes = [self.inputs, *[self.width] * self.backbone, 2 * self.pairs, self.classes]
        weights = sum(a * b for a, b in pairwise(sizes))
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
    """Shared rows, their ordered biases, and where in the layer the units of each pair lie.

    The second unit of a pair is written with the sign in `signs` before its row and its bias.
    """

    rows: Floats
    high: Floats
    low: Floats
    seats: Integers
    signs: Integers

    def layer(self) -> Layer:
        matrix = np.empty((2 * len(self.rows), self.rows.shape[1]), np.float32)
        biases = np.empty(2 * len(self.rows), np.float32)
        first, second = self.seats
        matrix[first], biases[first] = self.rows, self.high
        matrix[second], biases[second] = self.signs[:, None] * self.rows, self.signs * self.low
        return matrix, biases

    def readout(self, weights: Integers) -> NDArray[np.float32]:
        """Weights [class, pair] of differences as weights of units, scaled to about an average."""
        scale = float(power(-((len(self.rows) - 1).bit_length() + 3)))
        columns = np.empty((len(weights), 2 * len(self.rows)), np.float32)
        first, second = self.seats
        columns[:, first] = weights * scale
        columns[:, second] = -self.signs * weights * scale
        return columns


def make(knobs: SmoothPairsKnobs, seed: int) -> list[Instance]:
    draw = generator(FAMILY, knobs, seed)
    middle = centre(draw, knobs.inputs)
    label = int(draw.integers(knobs.classes))
    epsilon = radius(knobs.epsilon)
    point = np.array([float(v) for v in middle])
    backbone = _backbone(draw, knobs, point)
    pairs = _pairs(draw, knobs, _rows(draw, knobs, backbone, point, knobs.pairs))
    body = backbone.then(pairs.layer())
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
            remedy="raise reach, or lower against, delta, backbone or pairs",
            shifted=False,
            starts=starts,
        )
    )


def _backbone(draw: Generator, knobs: SmoothPairsKnobs, point: Floats) -> SmoothLayers:
    """Dense random layers whose units are steepest near the centre."""
    backbone = SmoothLayers(knobs.activation)
    for _ in range(knobs.backbone):
        rows = _rows(draw, knobs, backbone, point, knobs.width)
        shifts = _shifts(draw, knobs, knobs.width)
        bias = [float(s - r) for s, r in zip(shifts, rows.responses, strict=True)]
        backbone = backbone.then((rows.weights.astype(np.float32), np.array(bias, np.float32)))
    return backbone


def _rows(
    draw: Generator, knobs: SmoothPairsKnobs, body: SmoothLayers, point: Floats, units: int
) -> Rows:
    """Random rows, each scaled by what the corners that its gradient names do to it."""
    fan_in = knobs.width if body.layers else knobs.inputs
    numerators = signed(draw, _HIGHEST_WEIGHT, (units, fan_in)).astype(np.float64)
    step = float(radius(knobs.epsilon)) * np.sign(body.gradients(point, numerators))
    corners = np.concatenate([point + step, point - step, point[None]])
    features = body.features(corners)[-1]
    at_centre = numerators @ features[-1]
    ends = ((part * numerators).sum(axis=1) for part in (features[:units], features[units:-1]))
    moves = np.maximum(*(np.abs(end - at_centre) for end in ends))
    weights, responses = [], []
    for row, response, move in zip(numerators, at_centre, moves, strict=True):
        if move == 0:
            raise CannotCertify(f"{FAMILY}: a unit does not move over the box; raise epsilon")
        scale = power(leading_exponent(as_written(knobs.reach) / Fraction(float(move)) * _ROOT))
        weights.append(row * float(scale))
        responses.append(nearest(Fraction(float(response)) * scale, -_BIAS_BITS))
    return Rows(np.array(weights), tuple(responses))


def _shifts(draw: Generator, knobs: SmoothPairsKnobs, count: int) -> list[Fraction]:
    """Up to half a reach to either side, on the grid of biases."""
    half = as_written(knobs.reach) / 2
    return [nearest(half * int(n) / 64, -_BIAS_BITS) for n in draw.integers(-64, 65, count)]


def _pairs(draw: Generator, knobs: SmoothPairsKnobs, rows: Rows) -> Pairs:
    """Pairs around their response at the centre, or a little off."""
    middles = list(rows.responses)
    if knobs.placement == "spread":
        middles = list(map(add, middles, _shifts(draw, knobs, knobs.pairs)))
    gap = as_written(knobs.delta)
    high = [float(float32_at_least(gap - middle)) for middle in middles]
    low = [float(float32_at_most(-gap - middle)) for middle in middles]
    seats = draw.permutation(2 * knobs.pairs).reshape(2, knobs.pairs)
    signs = np.where(draw.integers(0, 2, knobs.pairs) == 1, -1, 1)
    if not knobs.negated:
        signs = np.ones_like(signs)
    return Pairs(rows.weights, np.array(high), np.array(low), seats, signs)


def _weights(draw: Generator, knobs: SmoothPairsKnobs, label: int) -> Integers:
    """Integers [class, pair]: the label's are the highest, or, for pairs against it, the lowest."""
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
