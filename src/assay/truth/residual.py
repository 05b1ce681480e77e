"""Residual networks that move no two inputs apart, so that depth costs a proof nothing.

Theorem. A block F(x) = x - W^T C relu(W x + b) with C >= 0 diagonal has
F(x) - F(y) = (I - W^T C D W)(x - y) with some diagonal 0 <= D <= I, because every ReLU changes by
some share between 0 and 1 of what its argument changes by. W^T C D W lies between zero and
W^T C W. If no eigenvalue of that matrix is above 2, then |F(x) - F(y)| <= |x - y| in l2. So with a
stem of l2 norm L, a margin a z + b of the last state z drops below its exact value at the centre
of the box by at most |a| L epsilon sqrt(inputs), whatever the depth. The read-out's biases leave
gamma above the drop.

Intervals and linear bounds follow x and W^T C relu(W x + b) on two paths, of which neither knows
that the other one cancels it: intervals grow by a factor near 1 + width with every block, linear
bounds wherever units are unstable.

The twin's bias is just below what the network really drops by at a known corner of the box.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from pydantic import Field, model_validator

from assay.proof import reader
from assay.proof import vnnlib as question_reader
from assay.proof.arithmetic import Vector
from assay.proof.claim import Claim
from assay.proof.rules.residual import excesses
from assay.question.graph import GraphBuilder
from assay.question.property import Violation
from assay.question.region import Box
from assay.truth.assemble import Design, robust_instance, violated_instance
from assay.truth.constructor import Constructor, Knobs
from assay.truth.contracting_filters import hadamard, short_root
from assay.truth.corner_search import (
    Floats,
    Sloped,
    ends,
    improved_corner,
    lowest_corner,
    random_corner,
    rounded,
)
from assay.truth.dyadic import as_written, power, radius, short_above, short_below
from assay.truth.instance import Instance
from assay.truth.output_biases import Head, Rivalry, planted_biases
from assay.truth.potential_blocks import Mixing, PotentialBlock, drawn_block, placed
from assay.truth.randomness import centre, generator, signed

FAMILY = "residual"
_SAMPLES = 12
_WIDEST = 64
_MOST_WEIGHTS = 1 << 19


class ResidualKnobs(Knobs):
    inputs: int = Field(32, ge=1, le=512, description="number of inputs")
    features: int | None = Field(
        None, ge=1, le=512, description="features that an affine stem makes; null: the inputs"
    )
    classes: int = Field(10, ge=2, le=1_000, description="number of classes")
    width: int = Field(8, ge=1, le=512, description="hidden units of a block")
    depth: int = Field(8, ge=1, le=64, description="number of residual blocks")
    epsilon: float = Field(0.02, ge=1e-4, le=0.5, description="l_inf radius of the box")
    step: float = Field(
        2.0, ge=0.01, le=10, description="largest eigenvalue of W^T C W in a block, at most 2"
    )
    mixing: Mixing = Field(
        "hadamard", description="weights of a block: orthogonal rows, or dense random ones"
    )
    head: Head = Field(
        "centred", description="rivals are zero, or every class has weights of its own"
    )
    gamma: float = Field(0.01, ge=1e-9, le=1e3, description="certified margin, rounded up")
    instability: float = Field(
        0.5, ge=0, le=1, description="share of units that biases try to make unstable"
    )

    @property
    def states(self) -> int:
        return self.inputs if self.features is None else self.features

    @model_validator(mode="after")
    def _can_be_certified(self) -> ResidualKnobs:
        if self.step > 2:
            raise ValueError(
                f"step = {self.step} lets a block move inputs apart; set it to at most 2"
            )
        if self.mixing == "hadamard" and self.states & (self.states - 1):
            raise ValueError(
                f"no Hadamard matrix of order {self.states} is built in; set features to a power "
                "of two, or mixing to dense"
            )
        if self.features is not None and (
            self.features < self.inputs or self.features & (self.features - 1)
        ):
            raise ValueError(
                f"a stem from {self.inputs} inputs needs as many features, and a power of two; set "
                "features to one, or to null"
            )
        if min(self.width, self.states) > _WIDEST:
            raise ValueError(
                f"blocks of {self.width} units on {self.states} features are too wide for an exact "
                f"look at eigenvalues; lower width, or inputs and features, to {_WIDEST}"
            )
        weights = self.depth * self.width * self.states
        if weights > _MOST_WEIGHTS:
            raise ValueError(
                f"blocks with {weights} weights are more than {_MOST_WEIGHTS}; lower depth, width "
                "or features"
            )
        return self


@dataclass(frozen=True, eq=False)
class Body:
    """All but the read-out."""

    stem: NDArray[np.float32] | None
    blocks: tuple[PotentialBlock, ...]

    def network(
        self, inputs: int, weights: NDArray[np.float32], biases: Sequence[Fraction]
    ) -> bytes:
        graph = GraphBuilder((1, inputs))
        state = graph.input
        if self.stem is not None:
            state = graph.gemm(state, self.stem, np.zeros(len(self.stem), np.float32))
        for block in self.blocks:
            hidden = graph.relu(graph.gemm(state, block.weight, block.bias))
            shift = np.zeros(len(block.outer), np.float32)
            state = graph.add(state, graph.gemm(hidden, block.outer, shift))
        offsets = np.array([float(b) for b in biases], np.float32)
        return graph.build(graph.gemm(state, weights, offsets))

    def read_by(self, row: Floats) -> Sloped:
        """row · last state with its gradient, for the search of a corner."""

        def function(point: Floats) -> tuple[float, Floats]:
            state, seen = point, []
            if self.stem is not None:
                state = rounded(self.stem.astype(np.float64) @ state)
            for block in self.blocks:
                seen.append(block.responses(state))
                state = block.after(state, seen[-1])
            slope = row
            for block, responses in zip(reversed(self.blocks), reversed(seen), strict=True):
                slope = block.pulled_back(slope, responses)
            if self.stem is not None:
                slope = rounded(self.stem.astype(np.float64).T @ slope)
            return float(np.sum(rounded(row * state))), slope

        return function


def make(knobs: ResidualKnobs, seed: int) -> list[Instance]:
    draw = generator(FAMILY, knobs, seed)
    epsilon = radius(knobs.epsilon)
    middle = centre(draw, knobs.inputs)
    box = Box.around(middle, epsilon)
    label = int(draw.integers(knobs.classes))
    body = _body(draw, knobs, box)
    weights = _readout(draw, knobs, label)

    def design(biases: Sequence[Fraction], facts: dict[str, str]) -> Design:
        return Design(
            FAMILY,
            knobs.model_dump(mode="json"),
            seed,
            (),
            box,
            Violation.misclassification(label, knobs.classes),
            {"epsilon": str(epsilon), **facts},
            onnx=body.network(knobs.inputs, weights, biases),
        )

    flat = design([Fraction(0)] * knobs.classes, {})
    claim = Claim(
        question_reader.read(flat.question_bytes()), reader.read(flat.network_bytes()), None
    )
    bounds = excesses(claim)
    rivals = [k for k in range(knobs.classes) if k != label]
    rival = int(draw.choice(rivals))
    row = weights[label].astype(np.float64) - weights[rival].astype(np.float64)
    corner = improved_corner(body.read_by(row), lowest_corner(body.read_by(row), box, draw), box)
    outputs = [flat.structure.outputs(Vector.of(point)).fractions() for point in (corner, middle)]
    seen = Rivalry(rival, *(values[label] - values[rival] for values in outputs))
    biases = planted_biases(FAMILY, knobs.head, label, as_written(knobs.gamma), bounds, seen)
    facts = {
        "drop_certified": str(short_above(seen.at_middle - bounds[rivals.index(rival)], longest=0)),
        "drop_attained": str(short_below(seen.at_middle - seen.at_corner, longest=0)),
    }
    return [
        robust_instance(design(biases.kept, facts), biases.margin),
        violated_instance(design(biases.spoiled, facts), corner),
    ]


def _body(draw: Generator, knobs: ResidualKnobs, box: Box) -> Body:
    low, high = ends(box)
    states: list[Floats] = [(low + high) / 2, *(random_corner(box, draw) for _ in range(_SAMPLES))]
    stem = None
    if knobs.features is not None:
        stem = _stem(draw, knobs.inputs, knobs.features)
        states = [rounded(stem.astype(np.float64) @ state) for state in states]
    blocks = []
    for _ in range(knobs.depth):
        bare = drawn_block(draw, knobs.mixing, knobs.width, knobs.states, as_written(knobs.step))
        blocks.append(placed(draw, bare, states, knobs.instability))
        last = blocks[-1]
        states = [last.after(state, last.responses(state)) for state in states]
    return Body(stem, tuple(blocks))


def _stem(draw: Generator, inputs: int, features: int) -> NDArray[np.float32]:
    """Columns of a Hadamard matrix, scaled to an l2 norm of 1 or just below."""
    factor, exponent = short_root(Fraction(1, features))
    columns = hadamard(draw, features)[:, :inputs]
    return (factor * columns * float(power(exponent))).astype(np.float32)


def _readout(draw: Generator, knobs: ResidualKnobs, label: int) -> NDArray[np.float32]:
    """Weights of about unit l2 norm a class; with the centred head the rivals' are zero."""
    weights = signed(draw, 15, (knobs.classes, knobs.states))
    if knobs.head == "centred":
        weights[np.arange(knobs.classes) != label] = 0
    bits = (knobs.states - 1).bit_length() // 2 + 3
    return (weights * float(power(-bits))).astype(np.float32)


CONSTRUCTOR = Constructor(
    name=FAMILY,
    summary="deep residual ReLU blocks that are non-expansive in l2 while plain bounds explode",
    theorem="a block x - W^T C relu(W x + b) moves no two inputs apart if W^T C W is at most 2 I",
    knobs=ResidualKnobs,
    make=make,
)
