"""Contractive CNN: convolutions that carry no difference of two inputs far.

Theorem. Let layer l have operator norm at most L_l, and let c be the centre of the box. ReLU moves
no two numbers apart, so the last features z obey |z(x) - z(c)| <= L_1 ... L_D |x - c|. A margin
a z + b therefore drops below its exact value at c by at most |a|_1 L_1 ... L_D epsilon with
l_inf norms (`mixing` rows: exact sums of absolute weights), and by at most
|a|_2 L_1 ... L_D epsilon sqrt(inputs) with l2 norms (`mixing` hadamard: W^T W = L^2 I before the
border is cut off). The read-out's biases leave gamma above the drop.

Intervals see every l_inf contraction, so `rows` is the easy control. Orthogonal mixing contracts
in l2 while its l_inf norm is near sqrt(9 channels): interval bounds grow by that much with every
layer, and so do linear bounds wherever units are unstable.

The twin's bias is just below what the network really drops by at a known corner of the box.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.random import Generator
from pydantic import Field, model_validator

from assay.proof import reader
from assay.proof import vnnlib as question_reader
from assay.proof.claim import Claim
from assay.proof.rules.contractive_cnn import excesses
from assay.question.convolution import ConvLayer
from assay.question.floaterror import Layer
from assay.question.property import Violation
from assay.question.region import Box
from assay.truth.assemble import Design, mlp_outputs, robust_instance, violated_instance
from assay.truth.cnn_design import convolution, forward, read_by
from assay.truth.constructor import Constructor, Knobs
from assay.truth.contracting_filters import Filters, by_orthogonality, by_row_sums
from assay.truth.corner_search import Floats, ends, lowest_corner, random_corner, relu
from assay.truth.dyadic import as_written, float32_over, radius
from assay.truth.instance import Instance
from assay.truth.output_biases import Head, Rivalry, planted_biases
from assay.truth.randomness import Integers, generator, signed

FAMILY = "contractive_cnn"
_MOST_PRODUCTS = 1 << 28
_MOST_WORK = 1 << 32
_PIXEL_BITS = 16
_SAMPLES = 12
_STRAY = 1 / 8
_SHIFTS = (0.0, 0.5, 0.9, 1.1, 2.0, -0.5, -0.9, -1.1)


class ContractiveCnnKnobs(Knobs):
    size: int = Field(8, ge=2, le=32, description="height and width of the input image")
    colours: int = Field(1, ge=1, le=16, description="channels of the input image")
    classes: int = Field(10, ge=2, le=1_000, description="number of classes")
    epsilon: float = Field(0.02, ge=1e-4, le=0.5, description="l_inf radius of the box")
    contrast: float = Field(
        1.0, ge=0, le=1_000, description="variation of the centre's pixels over epsilon"
    )
    depth: int = Field(4, ge=1, le=64, description="number of contracting blocks D")
    channels: int = Field(8, ge=1, le=64, description="channels of a block")
    contraction: float = Field(0.9, ge=0.01, le=10, description="norm of each block, below 1")
    mixing: Literal["rows", "hadamard"] = Field(
        "hadamard", description="blocks contract in l_inf by row sums, or in l2 by orthogonality"
    )
    front: float | None = Field(
        None, ge=0.01, le=100, description="norm of a convolution before the blocks; null: none"
    )
    stride: int = Field(1, ge=1, le=4, description="stride of the first convolution")
    head: Head = Field(
        "centred", description="rivals are zero, or every class has weights of its own"
    )
    gamma: float = Field(0.01, ge=1e-9, le=1e3, description="certified margin, rounded up")
    instability: float = Field(
        0.5, ge=0, le=1, description="share of units that biases try to make unstable"
    )

    @model_validator(mode="after")
    def _can_be_certified(self) -> ContractiveCnnKnobs:
        if self.contraction >= 1:
            raise ValueError(
                f"contraction = {self.contraction} does not contract; set it below 1 "
                "(front may be above)"
            )
        if self.mixing == "hadamard" and self.channels & (self.channels - 1):
            raise ValueError(
                f"no Hadamard matrix of order {self.channels} is built in; set channels to a power "
                "of two, or mixing to rows"
            )
        if self.mixing == "hadamard" and self.colours > self.channels:
            raise ValueError(
                f"{self.colours} colours do not fit {self.channels} orthogonal channels; raise "
                "channels, or set mixing to rows"
            )
        if self.stride > max(self.size, 3):
            raise ValueError(
                f"stride {self.stride} is wider than an image of size {self.size}; lower stride"
            )
        products = self.depth * self.channels * self.channels * 9 * self.size * self.size
        # exact numbers grow by as many bits with every layer
        if products > _MOST_PRODUCTS or products * self.depth > _MOST_WORK:
            raise ValueError(
                f"{products} products on numbers that grow with depth {self.depth} would take "
                "minutes to prove; lower depth, channels or size"
            )
        return self


@dataclass(frozen=True)
class Proved:
    """A bound for each rival, upper bounds of all pre-activations, and squares of l2 norms."""

    excesses: tuple[Fraction, ...]
    tops: Mapping[int, Sequence[Fraction]]
    stretches: Mapping[int, Fraction]


def make(knobs: ContractiveCnnKnobs, seed: int) -> list[Instance]:
    draw = generator(FAMILY, knobs, seed)
    epsilon = radius(knobs.epsilon)
    middle = _centre(draw, knobs, epsilon)
    box = Box.around(middle, epsilon)
    label = int(draw.integers(knobs.classes))
    layers, squared, signs = _layers(draw, knobs, box)
    weights = _readout(draw, knobs, label, layers[-1], signs)

    def design(biases: Sequence[Fraction], proved: Proved | None = None) -> Design:
        readout: Layer = (weights, np.array([float(b) for b in biases], np.float32))
        return Design(
            FAMILY,
            knobs.model_dump(mode="json"),
            seed,
            (*layers, readout),
            box,
            Violation.misclassification(label, knobs.classes),
            {"epsilon": str(epsilon), "squared_norm": str(squared)},
            proved.tops if proved else {},
            proved.stretches if proved else {},
        )

    flat = design([Fraction(0)] * knobs.classes)
    proved = _proved(flat)
    rival = int(draw.choice([k for k in range(knobs.classes) if k != label]))
    row = weights[label].astype(np.float64) - weights[rival].astype(np.float64)
    corner = lowest_corner(read_by(layers, row), box, draw)
    outputs = [mlp_outputs(flat.layers, point) for point in (corner, middle)]
    seen = Rivalry(rival, *(values[label] - values[rival] for values in outputs))
    biases = planted_biases(
        FAMILY, knobs.head, label, as_written(knobs.gamma), proved.excesses, seen
    )
    return [
        robust_instance(design(biases.kept, proved), biases.margin),
        violated_instance(design(biases.spoiled, proved), corner),
    ]


def _centre(draw: Generator, knobs: ContractiveCnnKnobs, epsilon: Fraction) -> tuple[Fraction, ...]:
    """A grey image with noise: the more it varies, the fewer units of a channel share a bias."""
    pixels = knobs.colours * knobs.size * knobs.size
    half = 1 << (_PIXEL_BITS - 1)
    widest = min(int(as_written(knobs.contrast) * epsilon * (1 << _PIXEL_BITS)), half)
    noise = draw.integers(-widest, widest, size=pixels, endpoint=True)
    return tuple(Fraction(int(n), 1 << _PIXEL_BITS) for n in noise)


def _proved(flat: Design) -> Proved:
    """What the checker's rule proves when all classes have the bias zero."""
    question = question_reader.read(flat.question_bytes())
    graph = reader.read(flat.network_bytes())
    bounds, intervals, stretches = excesses(Claim(question, graph, None))
    return Proved(
        tuple(bounds),
        {index: interval.upper.fractions() for index, interval in intervals.items()},
        stretches,
    )


def _layers(
    draw: Generator, knobs: ContractiveCnnKnobs, box: Box
) -> tuple[tuple[ConvLayer, ...], Fraction, Integers]:
    """The convolutions, the square of the product of their norms, and the last one's signs."""
    norms = [as_written(knobs.contraction)] * knobs.depth
    if knobs.front is not None:
        norms.insert(0, as_written(knobs.front))
    low, high = ends(box)
    corners = [random_corner(box, draw) for _ in range(_SAMPLES)]
    values: list[Floats] = [(low + high) / 2, *corners]
    image = (knobs.colours, knobs.size, knobs.size)
    signs = signed(draw, 1, (knobs.colours,))
    layers: list[ConvLayer] = []
    squared = Fraction(1)
    for position, norm in enumerate(norms):
        following = signed(draw, 1, (knobs.channels,))
        filters = (
            by_row_sums(draw, norm, (following, signs), _STRAY)
            if knobs.mixing == "rows"
            else by_orthogonality(draw, norm, knobs.channels, image[0])
        )
        stride = 1 if position else knobs.stride
        layer = _placed(filters, image, stride, values, knobs.instability)
        values = [relu(forward(layer, value)) for value in values]
        layers.append(layer)
        squared *= filters.squared_norm
        image, signs = layer.output, following
    return tuple(layers), squared, signs


def _placed(
    filters: Filters,
    image: tuple[int, int, int],
    stride: int,
    values: Sequence[Floats],
    instability: float,
) -> ConvLayer:
    """The layer with biases that make about the wanted share of each channel's units unstable.

    A unit counts as unstable if its value at the centre is closer to zero than what random
    corners of the box move it by. Among equals the bias that opens more units wins.
    """
    bare = convolution(filters.numerators, filters.exponent, image, stride=stride)
    middle, *others = [forward(bare, value).reshape(len(bare.bias), -1) for value in values]
    reach = np.max([np.abs(other - middle) for other in others], axis=0)
    biases = []
    for unit_values, unit_reach in zip(middle, reach, strict=True):
        places = np.unique(np.linspace(0, len(unit_values) - 1, 9).astype(int))
        order = np.argsort(unit_values, kind="stable")[places]
        tried = [s * unit_reach[p] - unit_values[p] for p in order for s in _SHIFTS]
        shares = [float(np.mean(np.abs(unit_values + b) < unit_reach)) for b in tried]
        best = min(zip(shares, tried, strict=True), key=lambda t: (abs(t[0] - instability), -t[1]))
        biases.append(Fraction(float(np.float32(best[1]))))
    return convolution(filters.numerators, filters.exponent, image, bias=biases, stride=stride)


def _readout(
    draw: Generator, knobs: ContractiveCnnKnobs, label: int, last: ConvLayer, signs: Integers
) -> np.ndarray:
    """Weights of about unit norm (l1 with rows, l2 with hadamard), the label's along the signs."""
    places = last.positions[0] * last.positions[1]
    features = knobs.channels * places
    weights = signed(draw, 15, (knobs.classes, features))
    if knobs.mixing == "rows":
        weights[label] = np.abs(weights[label]) * np.repeat(signs, places)
        bits = (features - 1).bit_length() + 3
    else:
        bits = (features - 1).bit_length() // 2 + 3
    if knobs.head == "centred":
        weights[np.arange(knobs.classes) != label] = 0
    return float32_over(weights, -bits)


CONSTRUCTOR = Constructor(
    name=FAMILY,
    summary="deep convolutions that contract in l2 while their l_inf norm explodes, or in l_inf",
    theorem="a margin drops by at most the product of the layers' exact operator norms",
    knobs=ContractiveCnnKnobs,
    make=make,
)
