"""Planted counterexamples: a bump over a small set of known volume, on an ordinary background.

Theorem. Label y and target t read the background with the same weights, so f_y - f_t is a constant
C > 0 minus v relu(F), where the plant's units compute F from the input alone. The network is
violated exactly where F >= C / v, provided that every other class stays below y, which intervals
prove. F is made so that this set has a volume that is known:

- `soft_box`: F is its top minus hinges outside of an interval for every input. The set is a box
  with a rim on which charges add; its volume is a polynomial of the level.
- `rotated_box` and `simplex`: hinges of dense orthogonal rows; volumes up to a determinant.
- `tent`: a soft box behind folds that keep volume, so 2^(folds * inputs) islands of the same share.
- `xor_lock`: steep ramps turn inputs into bits, and F is near its top only where the bits solve a
  planted system of parities. The ramps' share is enclosed.

The twin lowers the bump below C. Of the lock it turns one parity over that follows from the
others: by elimination over GF(2) no bits solve the system, and half-way bits are charged for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import cycle, islice
from math import comb
from typing import Literal

from numpy.random import Generator
from pydantic import Field, model_validator

from assay.errors import CannotCertify
from assay.proof.arithmetic import Rejected, Unsupported, Vector
from assay.proof.ball_network import highest_margin
from assay.proof.form_network import read_forms
from assay.proof.rules.planted import least_excesses
from assay.proof.violating_share import violating_share
from assay.question.convolution import ConvLayer
from assay.question.property import Violation
from assay.question.region import Box
from assay.truth.assemble import (
    Design,
    robust_instance,
    stated_instance,
    stated_violation,
    violated_instance,
)
from assay.truth.cnn_design import squared_norms
from assay.truth.constructor import Constructor, Knobs
from assay.truth.dyadic import (
    as_written,
    float32_at_most,
    leading_exponent,
    nearest,
    radius,
    short_above,
    short_below,
)
from assay.truth.instance import Instance
from assay.truth.planting import front, network
from assay.truth.planting.concave import is_too_thin, rotated_box, simplex, soft_box
from assay.truth.planting.curved import curved_box
from assay.truth.planting.front import Front
from assay.truth.planting.lock import xor_lock
from assay.truth.planting.network import Classes, Grove, Soil, are_apart, claim, planted_grove
from assay.truth.planting.placement import Placement, Site
from assay.truth.planting.plant import Layers, Plant, capped
from assay.truth.planting.tent import tent
from assay.truth.randomness import centre, generator

FAMILY = "planted"
Charges = Literal["open", "capped"]
Kind = Literal["soft_box", "rotated_box", "simplex", "tent", "xor_lock"]
_MOST_INPUTS = 128
_FEWEST_BITS = 5
_WIDEST = 0.3
_WIDEST_TOGETHER: dict[Placement, float] = {
    "inside": 0.2,
    "face": 0.2,
    "corner": 0.2,
    "past_middle": 0.1,
}
_MOST_DRAWN = 200
_BITS = 16
"""Of gamma and of height together: the top of a bump, their product, must fit float32."""
_HEIGHT_BITS = 6
_ALONE = ("tent", "xor_lock")
_CURVED = ("soft_box", 0, False)
"""The kind, depth and tip of what can stand behind a curve."""


class PlantedKnobs(Knobs):
    kind: Kind = Field("soft_box", description="shape of the violating set")
    background: network.Kind = Field("mlp", description="network that the plant is hidden in")
    stem: front.Stem = Field("none", description="what stands between the inputs and the plant")
    inputs: int = Field(10, ge=2, le=4096, description="number of inputs, at most 128")
    plants: int = Field(1, ge=1, le=3, description="how many plants there are")
    classes: int = Field(4, ge=2, le=10, description="number of classes")
    polarity: network.Polarity = Field(
        "raise", description="the bump raises a wrong class, or lowers the right one"
    )
    charges: Charges = Field(
        "open", description="whether a plant charges the more the further away, or up to a cap"
    )
    placement: Placement = Field("inside", description="where in the box the plant lies")
    depth: float = Field(
        0,
        ge=0,
        le=1,
        description="how far a plant reaches from its placement, over epsilon; 0: no limit",
    )
    epsilon: float = Field(0.1, ge=1e-3, le=0.5, description="l_inf radius of the box")
    gamma: float = Field(
        0.5, ge=1e-3, le=1e3, description="margin between label and target without the bump"
    )
    width: float = Field(
        0.25, ge=0.01, le=1, description="half of the plant's width over epsilon, at most 0.3"
    )
    height: float = Field(
        0.5, ge=1e-5, le=8, description="how far the bump exceeds gamma, over gamma"
    )
    tip: bool = Field(False, description="the plateau of the plant is a single point")
    lead: float = Field(
        1, ge=0.1, le=1e3, description="how far the other classes stay below, over gamma"
    )
    parities: int = Field(
        11, ge=6, le=160, description="parities of a lock, one more than its bits"
    )
    folds: int = Field(2, ge=1, le=4, description="folds of a tent")
    neurons: int = Field(8, ge=1, le=64, description="background units of a hidden layer")
    dilution: int = Field(
        2, ge=0, le=32, description="pairs of units in a hidden layer whose effects cancel"
    )

    @model_validator(mode="after")
    def _can_be_certified(self) -> PlantedKnobs:
        if self.inputs > _MOST_INPUTS:
            raise ValueError(
                f"an exact volume in {self.inputs} dimensions is too long to write; lower inputs "
                f"to at most {_MOST_INPUTS}"
            )
        if self.width > _WIDEST:
            raise ValueError(
                f"a plant of width {self.width} contains the centre of the box; lower width to at "
                f"most {_WIDEST}"
            )
        if self.kind == "xor_lock" and self.inputs < _FEWEST_BITS:
            raise ValueError(
                f"a lock of parities needs {_FEWEST_BITS} bits; raise inputs to {_FEWEST_BITS}"
            )
        if self.kind == "xor_lock" and self.parities > comb(self.inputs, 3):
            raise ValueError(
                f"{self.inputs} bits have {comb(self.inputs, 3)} triples; lower parities to that"
            )
        problem = next((words for wrong, words in self._combinations() if wrong), None)
        if problem is not None:
            raise ValueError(problem)
        return self

    def _combinations(self) -> list[tuple[bool, str]]:
        """Knobs that do not go together, each with what to turn."""
        smooth, widest = self.background in front.CURVED, _WIDEST_TOGETHER[self.placement]
        return [
            (
                self.plants > 1 and (self.kind in _ALONE or self.stem in front.CURVED),
                f"two plants overlap: a {self.kind} behind stem {self.stem} fills the box; lower "
                "plants to 1, or set kind to soft_box, rotated_box or simplex and stem to another",
            ),
            (
                self.plants > 1 and self.width > widest,
                f"two plants overlap: {self.plants} of width {self.width} do not lie side by side; "
                f"lower width to at most {widest} or plants to 1",
            ),
            (
                self.stem in front.CURVED and (self.kind, self.depth, self.tip) != _CURVED,
                f"behind a {self.stem} only a soft box with a plateau and of no given depth is "
                "proved; set kind to soft_box, tip to false and depth to 0, or change stem",
            ),
            (
                self.background == "cnn" and self.stem not in ("none", *front.POOLS),
                f"stem {self.stem} stands before matrices; set background to mlp or stem to pool",
            ),
            (
                smooth and self.stem in front.POOLS,
                f"background {self.background} has no images to pool; set background to mlp or cnn",
            ),
            (
                self.depth > 0 and self.placement == "inside",
                "depth starts at a face, corner or middle plane; set placement to face, corner or "
                "past_middle, or depth to 0",
            ),
            (
                self.depth > 0 and self.kind in _ALONE,
                f"a {self.kind} has no depth; set depth to 0 (a lock at a face has its width)",
            ),
            (
                self.charges == "capped"
                and (self.kind == "xor_lock" or self.stem in front.CURVED or self.tip),
                "charges are capped for boxes with a plateau, simplices and tents; set charges to "
                "open, or kind to another than xor_lock, stem to none and tip to false",
            ),
            (
                self.tip and self.kind != "soft_box",
                f"a {self.kind} has no tip; set tip to false or kind to soft_box",
            ),
            (
                self.kind in ("rotated_box", "simplex")
                and is_too_thin(*map(as_written, (self.width, self.epsilon, self.depth))),
                f"a {self.kind} of width {self.width} in a box of epsilon {self.epsilon} is "
                f"finer than its grid; raise width{' or depth' if self.depth else ''}, or epsilon",
            ),
        ]


@dataclass(frozen=True)
class Sown:
    """What a seed puts where, before anything grows around it; `draw` is to go on from there."""

    draw: Generator
    box: Box
    classes: Classes
    front: Front
    plants: list[Plant]


def sow(knobs: PlantedKnobs, seed: int) -> Sown:
    # open and capped plants of a seed are alike
    draw = generator(FAMILY, knobs, seed, but_for=frozenset({"charges"}))
    epsilon = radius(knobs.epsilon)
    middle = centre(draw, knobs.inputs)
    box = Box.around(middle, epsilon)
    label, *others = (int(k) for k in draw.permutation(knobs.classes))
    classes = Classes(knobs.classes, label, tuple(islice(cycle(others), knobs.plants)))
    before, plants = _front_and_plants(draw, knobs, _site(knobs, middle, epsilon), box)
    return Sown(draw, box, classes, before, plants)


def make(knobs: PlantedKnobs, seed: int) -> list[Instance]:
    sown = sow(knobs, seed)
    soil = Soil(knobs.background, knobs.polarity, knobs.neurons, knobs.dilution)
    grove = planted_grove(sown.draw, soil, sown.plants, sown.front, sown.classes)
    bare = Design(
        FAMILY,
        knobs.model_dump(mode="json"),
        seed,
        (),
        sown.box,
        Violation.misclassification(sown.classes.label, knobs.classes),
        {"epsilon": str(radius(knobs.epsilon))},
    )
    biases = _biases(sown.draw, grove, bare, sown.classes, as_written(knobs.lead))
    violated, robust = (_design(grove, bare, layers, biases) for layers in grove.twins)
    return [_robust(robust), _violated(violated, grove.plants[0].witness)]


def _site(knobs: PlantedKnobs, middle: tuple[Fraction, ...], epsilon: Fraction) -> Site:
    """The knobs on their grids: short numbers, so that a share of many factors stays readable."""
    gamma, height = as_written(knobs.gamma), as_written(knobs.height)
    finest = max(_HEIGHT_BITS, 2 - leading_exponent(height))
    excess = nearest(height, -finest)
    bits = _BITS + _HEIGHT_BITS - finest - leading_exponent(1 + height)
    constant = nearest(gamma, leading_exponent(gamma) - bits)
    width, depth = as_written(knobs.width), as_written(knobs.depth)
    return Site(middle, epsilon, width, knobs.placement, depth, knobs.tip, constant, excess)


def _front_and_plants(
    draw: Generator, knobs: PlantedKnobs, site: Site, box: Box
) -> tuple[Front, list[Plant]]:
    if knobs.stem == "sigmoid" or knobs.stem == "tanh":
        curved, plant = curved_box(draw, site, knobs.stem)
        return curved, [plant]
    plants = _plants(draw, knobs, site, box)
    if knobs.background == "cnn":
        return front.convolutional_front(draw, box, knobs.stem, 2, 3), plants
    if knobs.stem in front.POOLS:
        return front.convolutional_front(draw, box, knobs.stem, 1, 1), plants
    if knobs.stem != "none":
        return front.mixing_front(draw, box, knobs.stem), plants
    return front.plain_front(box), plants


def _plants(draw: Generator, knobs: PlantedKnobs, site: Site, box: Box) -> list[Plant]:
    """One after another, each apart from those before; only one is just past the middle."""
    plants = [_plant(draw, knobs, site)]
    if site.placement == "past_middle":
        site = replace(site, placement="inside")
    for _ in range(_MOST_DRAWN):
        if len(plants) == knobs.plants:
            return plants
        plant = _plant(draw, knobs, site)
        if are_apart([*plants, plant], box):
            plants.append(plant)
    raise CannotCertify("planted: two plants overlap; lower width or plants")


def _plant(draw: Generator, knobs: PlantedKnobs, site: Site) -> Plant:
    plant = _open_plant(draw, knobs, site)
    if knobs.charges == "open":
        return plant
    # no cap is reached where the plant violates; of several plants, none where its bump is positive
    heights = plant.heights
    return capped(plant, heights.level if knobs.plants == 1 else heights.top)


def _open_plant(draw: Generator, knobs: PlantedKnobs, site: Site) -> Plant:
    if knobs.kind == "tent":
        return tent(draw, site, knobs.folds)
    if knobs.kind == "xor_lock":
        return xor_lock(draw, site, knobs.parities)
    makers = {"soft_box": soft_box, "rotated_box": rotated_box, "simplex": simplex}
    return makers[knobs.kind](draw, site)


def _biases(
    draw: Generator, grove: Grove, bare: Design, classes: Classes, lead: Fraction
) -> list[Fraction]:
    """The label leads every target by C, and every other class by `lead` C, in both twins."""
    constant = grove.plants[0].heights.constant
    base = Fraction(int(draw.integers(-8, 9)), 16)
    biases = [base if k in classes.targets else Fraction(0) for k in range(classes.count)]
    biases[classes.label] = base + constant
    rivals = [k for k in range(classes.count) if k != classes.label]
    bounds = [
        least_excesses(claim(grove.onnx(layers, biases), bare.question_bytes()))
        for layers in grove.twins
    ]
    for rival, *found in zip(rivals, *bounds, strict=True):
        if rival not in classes.targets:
            biases[rival] = float32_at_most(min(found) - lead * constant)
    return biases


def _design(grove: Grove, bare: Design, plant: Layers, biases: Sequence[Fraction]) -> Design:
    onnx, layers = grove.onnx(plant, biases), grove.layers(plant, biases)
    if not layers:
        return replace(bare, onnx=onnx)
    bounds = read_forms(claim(onnx, bare.question_bytes())).bounds
    return replace(
        bare,
        onnx=onnx,
        layers=layers,
        tops={index: interval.upper.fractions() for index, interval in bounds.items()},
        stretches={
            index: norm
            for index, norm in (squared_norms(onnx) if grove.convolutional else {}).items()
            if isinstance(layers[index], ConvLayer)
        },
    )


def _robust(design: Design) -> Instance:
    question = claim(design.network_bytes(), design.question_bytes())
    margin = min(least_excesses(question))
    if design.layers:
        return robust_instance(design, margin)
    if margin <= 0:
        raise CannotCertify(f"{FAMILY}: the twin is not robust; try another seed")
    return stated_instance(design, "robust", short_below(margin), False, {"kind": FAMILY})


def _violated(design: Design, witness: tuple[Fraction, ...]) -> Instance:
    question = claim(design.network_bytes(), design.question_bytes())
    try:
        low, high = violating_share(question)
    except (Rejected, Unsupported) as reason:
        raise CannotCertify(f"{FAMILY}: {reason}; try another seed") from None
    if low < high:
        probability = {"lower": str(short_below(low)), "upper": str(short_above(high))}
    else:
        probability = {"exact": str(low)}
    if design.layers:
        return violated_instance(design, witness, probability)
    margin = highest_margin(question.graph, question.question, Vector.of(witness))
    if margin >= 0:
        raise CannotCertify(f"{FAMILY}: the witness does not violate; try another seed")
    return stated_violation(design, short_above(margin), False, witness, probability)


CONSTRUCTOR = Constructor(
    name=FAMILY,
    summary="a bump over a small set of known volume, hidden in an ordinary network",
    theorem="what two outputs share cancels: violated is where a bump exceeds a known constant",
    knobs=PlantedKnobs,
    make=make,
)
