"""Linear attention with a dominant key for every query: sum_j w_ij v_j / sum_j w_ij.

Theorem. w_ij = phi(q_i) · phi(k_j) with phi >= 0. Exact ends of the features over the box give ends
of the weights, hence of the shares a_ij = w_ij / sum_l w_il. A margin is
sum_i c_i · sum_j a_ij v_j; its part with the values at the centre is at least a sum of least
averages under weights with those ends, its part with the change of the values at least minus eps
times the largest |sum_i a_ij (W_V c_i)|, added up over the inputs. All of it in rationals. If one
key has most of the weight of every row on the whole box, that leaves little room.

Feature f looks along token f: k_f(x) = s_f (x_f · x - t_f) with t_f near the largest x_f · x_j of
the other tokens; all lie on a sphere of radius sqrt(d). So token f alone is well above zero and
the closest others are at the kink: their ReLUs are unstable on purpose. Queries use the same
features in another order, so that the dominant key of a token is another token.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import Literal

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from pydantic import Field

from assay.errors import CannotCertify
from assay.proof.interval import Interval, through
from assay.proof.linear_attention import LinearAttention, read_linear_attention
from assay.proof.reader import read
from assay.proof.rules.linear_attention import least_excesses, weight_ends
from assay.question.graph import GraphBuilder
from assay.question.region import Box
from assay.truth.constructor import Constructor, Knobs
from assay.truth.dyadic import CENTRE_BITS, as_written, float32_over, power, radius, short_below
from assay.truth.instance import Instance
from assay.truth.planted_head import Plan, planted
from assay.truth.randomness import Integers, generator, signed

FAMILY = "linear_attention"
_LARGEST = 127
_CANDIDATES = 16
"""So many points are drawn for each token that is kept."""
_STARTS = 32
"""So many choices of tokens are made; the one whose tokens are farthest apart is kept."""
Floats = NDArray[np.float32]


class LinearAttentionKnobs(Knobs):
    tokens: int = Field(4, ge=2, le=64, description="sequence length n; as many features")
    width: int = Field(4, ge=2, le=64, description="token dimension d")
    value: int = Field(4, ge=1, le=64, description="value dimension d_v")
    classes: int = Field(5, ge=2, le=100, description="number of classes")
    epsilon: float = Field(0.02, ge=1e-5, le=0.2, description="l_inf radius of the box")
    gate_scale: float = Field(
        0.5, ge=0.01, le=10, description="what a token's own feature is at the centre"
    )
    noise_scale: float = Field(
        0.2,
        ge=1e-4,
        le=10,
        description="off-key level: the other keys' share is about noise / (4 gate)",
    )
    feature: Literal["relu", "squared_relu"] = Field(
        "relu", description="phi: relu(z) + offset, or relu(z)^2 + offset"
    )
    margin_factor: float = Field(
        1.1, ge=1.000001, le=100, description="nominal margin over the certified drop"
    )


@dataclass(frozen=True)
class FeatureMap:
    """phi(x weight + bias)."""

    weight: Floats
    bias: Floats
    offset: float
    squared: bool

    def add_to(self, graph: GraphBuilder) -> str:
        active = graph.relu(graph.add(graph.matmul(graph.input, self.weight), self.bias))
        return graph.add(graph.mul(active, active) if self.squared else active, self.offset)


@dataclass(frozen=True)
class Attention:
    query: FeatureMap
    key: FeatureMap
    value: Floats

    def add_to(self, graph: GraphBuilder) -> str:
        keys = graph.transpose(self.key.add_to(graph), (0, 2, 1))
        weights = graph.matmul(self.query.add_to(graph), keys)
        mixed = graph.matmul(weights, graph.matmul(graph.input, self.value))
        return graph.div(mixed, graph.reduce_sum(weights, (-1,)))


def make(knobs: LinearAttentionKnobs, seed: int) -> list[Instance]:
    draw = generator(FAMILY, knobs, seed)
    epsilon = radius(knobs.epsilon)
    tokens = _spread_tokens(draw, knobs)
    middle = tuple(Fraction(int(v), 1 << CENTRE_BITS) for v in tokens.ravel())
    label = int(draw.integers(knobs.classes))
    attention = _attention(draw, knobs, tokens, epsilon)
    readout = float32_over(signed(draw, _LARGEST, (knobs.classes, knobs.tokens * knobs.value)), -10)
    plan = Plan(
        FAMILY,
        knobs.model_dump(mode="json"),
        seed,
        (knobs.tokens, knobs.width),
        attention.add_to,
        readout,
        middle,
        epsilon,
        label,
        as_written(knobs.margin_factor),
        "margin_factor",
        rule=FAMILY,
        least_excesses=least_excesses,
        remedy="lower epsilon or noise_scale, raise gate_scale, or use fewer tokens",
        facts=_facts(attention, readout, Box.around(middle, epsilon), knobs),
    )
    return planted(plan)


def _facts(
    attention: Attention, readout: Floats, box: Box, knobs: LinearAttentionKnobs
) -> dict[str, str]:
    """The least dominance ratio rho over rows and box, and the number of unstable ReLUs."""
    graph = GraphBuilder((1, knobs.tokens, knobs.width))
    biases = np.zeros(knobs.classes, dtype=np.float32)
    flat = graph.flatten(attention.add_to(graph))
    network = read_linear_attention(read(graph.build(graph.gemm(flat, readout, biases))))
    rho = _dominance(network, box)
    if rho < 1:
        raise CannotCertify(
            f"{FAMILY}: no key dominates every row on the whole box (ratio {float(rho):.3g}); "
            "lower epsilon or noise_scale, raise gate_scale, or use fewer tokens"
        )
    return {
        "dominance": str(short_below(rho, longest=0)),
        "unstable_relus": str(_unstable(network, box)),
    }


def _unstable(network: LinearAttention, box: Box) -> int:
    """How many ReLUs of queries and keys take both signs on the box."""
    count = 0
    for i in range(network.tokens):
        token = slice(i * network.width, (i + 1) * network.width)
        ends = Interval.of(box.lower[token], box.upper[token])
        for feature in (network.query, network.key):
            reached = through(feature.map, ends)
            signs = zip(reached.lower.numerators, reached.upper.numerators, strict=True)
            count += sum(low < 0 < high for low, high in signs)
    return count


def _dominance(network: LinearAttention, box: Box) -> Fraction:
    """min over rows of the largest least weight over the sum of the others' largest."""
    ends = weight_ends(network, Interval.of(box.lower, box.upper))
    ratios = []
    for low, high in zip(ends.low, ends.high, strict=True):
        top = low.index(max(low))
        others = sum(high) - high[top]
        ratios.append(Fraction(low[top], others))
    return min(ratios)


def _spread_tokens(draw: Generator, knobs: LinearAttentionKnobs) -> Integers:
    """Points of a sphere, each the farthest of many from those before it; the best of a few."""
    rows = signed(draw, 1000, (_CANDIDATES * knobs.tokens, knobs.width)).tolist()
    pool = np.array([_on_sphere(row) for row in rows])
    products = pool @ pool.T
    found: list[tuple[int, list[int]]] = []
    for start in range(_STARTS):
        chosen, closest, worst = [start], products[start], 0
        for _ in range(knobs.tokens - 1):
            chosen.append(int(closest.argmin()))
            worst = max(worst, int(closest.min()))
            closest = np.maximum(closest, products[chosen[-1]])
        found.append((worst, chosen))
    return pool[min(found)[1]]


def _on_sphere(row: Sequence[int]) -> tuple[int, ...]:
    """The point of length sqrt(d) in this direction, on the centres' grid."""
    stretch = isqrt((len(row) << 2 * CENTRE_BITS + 40) // sum(v * v for v in row))
    return tuple(v * stretch >> 20 for v in row)


def _attention(
    draw: Generator, knobs: LinearAttentionKnobs, tokens: Integers, epsilon: Fraction
) -> Attention:
    squared = knobs.feature == "squared_relu"
    gate = as_written(knobs.gate_scale)
    level = as_written(knobs.noise_scale) / (8 * knobs.tokens)
    offset = float(np.float32(float(level * gate if squared else level)))
    order = draw.permutation(knobs.tokens)
    maps = []
    for places in (order, np.arange(knobs.tokens)):
        weight, bias = _directions(draw, tokens, epsilon, gate)
        seated = np.empty_like(weight), np.empty_like(bias)
        seated[0][:, places], seated[1][places] = weight, bias
        maps.append(FeatureMap(*seated, offset, squared))
    value = float32_over(signed(draw, _LARGEST, (knobs.width, knobs.value)), -7)
    return Attention(maps[0], maps[1], value)


def _directions(
    draw: Generator, tokens: Integers, epsilon: Fraction, gate: Fraction
) -> tuple[Floats, Floats]:
    """For every token f the column s_f x_f and the bias -s_f t_f."""
    products = tokens @ tokens.T
    columns, biases = [], []
    for f, token in enumerate(tokens):
        unit = power(-2 * CENTRE_BITS)
        nearest = max(int(p) for j, p in enumerate(products[f]) if j != f)
        reach = epsilon * int(np.abs(token).sum()) * power(-CENTRE_BITS)
        # the kink is off the nearest token by at most half of what the box moves it
        kink = nearest * unit + reach * Fraction(int(draw.integers(-64, 65)), 128)
        room = int(products[f, f]) * unit - kink
        if room <= 0:
            raise CannotCertify(
                f"{FAMILY}: token {f} is too close to another; lower tokens or epsilon, or raise "
                "width"
            )
        scale = gate * Fraction(int(draw.integers(96, 161)), 128) / room
        columns.append([float(int(v) * power(-CENTRE_BITS) * scale) for v in token])
        biases.append(float(-kink * scale))
    return np.array(columns).T.astype(np.float32), np.array(biases).astype(np.float32)


CONSTRUCTOR = Constructor(
    name=FAMILY,
    summary="normalised linear attention with a dominant key for every query and unstable ReLUs",
    theorem="shares whose weights have exact ends leave a weighted average of values little room",
    knobs=LinearAttentionKnobs,
    make=make,
)
