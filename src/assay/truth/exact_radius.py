"""Exact radius: boxes just inside and just outside a ReLU network's minimal adversarial radius.

Theorem. Let r* be the least l_inf distance from the centre to an input that some competitor
class scores at least as high as the label (paper, A.1). A tree of ReLU phases, each leaf refuted
by multipliers in exact arithmetic, proves r* > lower; an exact rational witness proves
r* <= upper. The box of radius fraction * r* (rounded down, at most `lower`) is robust; that of
radius (2 - fraction) * upper (rounded up) is violated by a witness inside it, and for the
closest enclosure that of radius `upper` itself.
One search serves all fractions: the tree of the largest is cut down for the smaller ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Annotated, Literal

import numpy as np
from numpy.random import Generator
from pydantic import Field, ValidationError, field_validator

from assay.bounds.nearest_violation import lowest_margin
from assay.bounds.phase_tree import PhaseProof
from assay.errors import BadInput, CannotCertify, Unsupported
from assay.proof import arithmetic, reader
from assay.proof.chain import read_chain
from assay.proof.checker import proven_margin
from assay.question.floaterror import Layer
from assay.question.mlp_layers import mlp_layers
from assay.question.network import load
from assay.question.region import Box
from assay.truth.assemble import Design, robust_instance, violated_instance
from assay.truth.certified_radius import (
    CertifiedRadius,
    Solver,
    Subject,
    certified_radius,
    proof_within,
)
from assay.truth.constructor import Constructor, Knobs
from assay.truth.dyadic import as_written, leading_exponent, nearest
from assay.truth.instance import Instance
from assay.truth.random_networks import random_layers, trained_layers
from assay.truth.randomness import generator

FAMILY = "exact_radius"
CLOSEST = 0.99999
"""How closely a radius is enclosed unless a knob says otherwise."""
_LARGEST_RADIUS = 4.0
Portion = Annotated[float, Field(gt=0, le=0.999999)]
Width = Annotated[int, Field(ge=1, le=500)]


class NetworkKnobs(Knobs):
    """What decides the network alone, so that other knobs leave its bytes as they are."""

    inputs: int = Field(50, ge=1, le=1000, description="number of inputs")
    classes: int = Field(5, ge=2, le=100, description="number of classes")
    hidden: tuple[Width, ...] = Field(
        (20, 20), min_length=1, max_length=6, description="widths of the hidden layers"
    )
    weights: Literal["random", "trained"] = Field(
        "random", description="random weights, or trained on clusters drawn from the seed"
    )
    centres: int = Field(
        16, ge=1, le=10_000, description="random centres tried; the widest margin is asked about"
    )


class ExactRadiusKnobs(NetworkKnobs):
    fractions: tuple[Portion, ...] = Field(
        (0.9,), min_length=1, max_length=20, description="parts of the exact radius to ask about"
    )
    enclosure: Portion = Field(
        CLOSEST,
        description="how closely the radius is enclosed: lower over upper, at least the fractions",
    )
    solver: Solver = Field(
        "branch", description="what seeks the radius: our phase search, or a MILP by highs or scip"
    )
    nodes: int = Field(
        20_000, ge=1, le=2_000_000, description="most nodes of the proof's trees, then refuse"
    )

    @field_validator("fractions")
    @classmethod
    def _distinct(cls, fractions: tuple[float, ...]) -> tuple[float, ...]:
        if len(set(fractions)) < len(fractions):
            raise ValueError("a fraction occurs twice; give each once")
        return fractions


def make(knobs: ExactRadiusKnobs, seed: int) -> list[Instance]:
    chosen = {name: getattr(knobs, name) for name in NetworkKnobs.model_fields}
    draw = generator(FAMILY, NetworkKnobs(**chosen), seed)
    sizes = (knobs.inputs, *knobs.hidden, knobs.classes)
    build = trained_layers if knobs.weights == "trained" else random_layers
    layers, centre = build(draw, sizes, knobs.centres)
    return _instances(layers, centre, None, knobs.model_dump(mode="json"), knobs, seed, draw)


def from_onnx(
    onnx: bytes,
    place: str,
    centre: Sequence[Fraction],
    *,
    fractions: Sequence[float] = (0.9,),
    solver: Solver = "branch",
    nodes: int = 20_000,
    seed: int = 0,
) -> list[Instance]:
    """Certify a ReLU network that the user brings, around the class it gives the centre.

    The closest enclosure is always among the instances, so that together they prove both radii.
    The centre is moved to multiples of 2^-20, coarser ones for coordinates beyond 8, so that
    box bounds are float32 numbers.
    """
    layers = mlp_layers(load(onnx, place))
    _refuse_unprovable(onnx, place)
    inputs = layers[0][0].shape[1]
    if len(centre) != inputs:
        raise BadInput(f"{place} has {inputs} inputs but the centre has {len(centre)} numbers")
    knobs = _brought_knobs(
        inputs=inputs,
        classes=len(layers[-1][1]),
        hidden=tuple(len(bias) for _, bias in layers[:-1]),
        fractions=with_closest(fractions),
        solver=solver,
        nodes=nodes,
        centres=1,
    )
    parameters = {**knobs.model_dump(mode="json"), "weights": "brought"}
    farthest = max(map(abs, centre)) + 2 * Fraction(_LARGEST_RADIUS)
    exponent = max(-20, leading_exponent(farthest) + 1 - 24)
    moved = tuple(nearest(value, exponent) for value in centre)
    draw = generator(FAMILY, knobs, seed)
    return _instances(layers, moved, onnx, parameters, knobs, seed, draw)


def with_closest(fractions: Sequence[float]) -> tuple[float, ...]:
    """The fractions that `from_onnx` makes instances of."""
    return (*fractions, *([CLOSEST] if max(fractions, default=0) < CLOSEST else []))


def _refuse_unprovable(onnx: bytes, place: str) -> None:
    """Say before a long search that the checker would not read the network as a chain."""
    try:
        read_chain(reader.read(onnx))
    except (arithmetic.Rejected, arithmetic.Unsupported) as reason:
        raise Unsupported(f"{place}: {reason}; only such networks can be certified") from None


def _brought_knobs(**values: object) -> ExactRadiusKnobs:
    try:
        return ExactRadiusKnobs.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise BadInput(f"exact_radius: {place} is not allowed: {first['msg']}") from None


def _instances(
    layers: tuple[Layer, ...],
    centre: tuple[Fraction, ...],
    onnx: bytes | None,
    parameters: Mapping[str, object],
    knobs: ExactRadiusKnobs,
    seed: int,
    draw: Generator,
) -> list[Instance]:
    label = _label(layers, centre)
    subject = Subject(layers, centre, label)
    portions = [as_written(f) for f in knobs.fractions]
    closest = max(as_written(knobs.enclosure), *portions)
    whole = certified_radius(
        subject,
        closest,
        solver=knobs.solver,
        nodes=knobs.nodes,
        draw=draw,
        largest=_LARGEST_RADIUS,
    )

    shared = {
        "radius_lower": str(whole.lower),
        "radius_upper": str(whole.upper),
        "radius_leaves": str(whole.proof.leaves),
    }

    def design(radius: Fraction, asked: float) -> Design:
        own = {k: v for k, v in parameters.items() if k != "fractions"}
        return Design(
            FAMILY,
            {**own, "fraction": asked},
            seed,
            layers,
            Box.around(centre, radius),
            subject.violation,
            {**shared, "epsilon": str(radius)},
            onnx=onnx,
            prefix=f"f{asked!r}-" if len(portions) > 1 else "",
        )

    if max(portions) < closest:
        # no instance will carry this proof, but the lower radius is stated on its strength
        _robust(subject, whole, design(whole.lower, knobs.enclosure), whole.lower)
    made: list[Instance] = []
    for asked, portion in zip(knobs.fractions, portions, strict=True):
        inner = min(whole.lower, _down(portion / closest * whole.lower, whole.grid))
        outer = whole.upper
        if portion < closest:
            outer = _up((2 - portion) * whole.upper, whole.grid)
        if inner <= 0:
            raise BadInput(f"exact_radius: fraction {asked} leaves a box without inside; raise it")
        made.append(_robust(subject, whole, design(inner, asked), inner))
        witness = _deep_witness(subject, whole, outer, draw)
        made.append(violated_instance(design(outer, asked), witness))
    return made


def _label(layers: tuple[Layer, ...], centre: tuple[Fraction, ...]) -> int:
    network = Subject(layers, centre, 0).network()
    point = np.array([[float(c) for c in centre]])
    return int(network.preactivations(point)[-1][0].argmax())


def _robust(subject: Subject, whole: CertifiedRadius, design: Design, radius: Fraction) -> Instance:
    return robust_by_tree(design, proof_within(subject, whole, radius))


def robust_by_tree(design: Design, proof: PhaseProof) -> Instance:
    """The robust instance that a tree proves, once the checker's rule has accepted it."""
    arrays = proof.packed()
    try:
        margin = proven_margin(design.network_bytes(), design.question_bytes(), "relu_tree", arrays)
    except (arithmetic.Rejected, arithmetic.Unsupported) as reason:
        raise CannotCertify(f"{design.family}: the proof does not hold exactly: {reason}") from None
    facts = {**design.facts, "leaves": str(proof.leaves)}
    stated = replace(design, facts=facts)
    return robust_instance(stated, margin, kind="relu_tree", arrays=arrays)


def _deep_witness(
    subject: Subject, whole: CertifiedRadius, radius: Fraction, draw: Generator
) -> tuple[Fraction, ...]:
    """The most violating input that a short search inside the larger box meets, on the grid."""
    box = subject.box(radius)
    start = np.array([float(v) for v in whole.witness])
    starts = np.vstack([start, draw.uniform(*box, size=(31, len(start)))])
    _, point = lowest_margin(subject.network(), subject.label, starts, box, steps=60)
    snapped = tuple(round(Fraction(float(v)) / whole.grid) * whole.grid for v in point)
    inside = Box.around(subject.centre, radius).contains(snapped)
    deeper = inside and subject.margin(snapped) < subject.margin(whole.witness)
    return snapped if deeper else whole.witness


def _down(value: Fraction, grid: Fraction) -> Fraction:
    return (value / grid).__floor__() * grid


def _up(value: Fraction, grid: Fraction) -> Fraction:
    return -_down(-value, grid)


CONSTRUCTOR = Constructor(
    name=FAMILY,
    summary="boxes just inside and just outside a ReLU network's exact adversarial radius",
    theorem="A tree of ReLU phases with exact multipliers proves the box below the radius robust; "
    "an exact witness just above it violates.",
    knobs=ExactRadiusKnobs,
    make=make,
)
