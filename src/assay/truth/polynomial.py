"""Polynomial networks whose box nearly touches a known point of the decision boundary.

Theorem. mu(x) = c · (W x + b)^d + c0 is the label's score minus the other one's. Let p be a point
with mu(p) < 0 <= mu(p + g s), g one step of the float32 grid and s the signs of mu's gradient: the
boundary passes between the two. Around x0 = p + r s the box of radius r - delta keeps delta from
p in every coordinate, and the checker proves that mu > 0 on all of it: where a partial derivative
has one sign on a box, mu is least on a face, which is a smaller box, and so on; what is left is
bounded to second order or by halving ranges of hidden units. If every coordinate goes, the minimum
is exactly mu(p + delta s). The box of radius r has the corner p with mu(p) < 0: the twin, the
same network and centre with a slightly larger box.

p is a root of mu on a random line, isolated by balls and rounded to the grid. `compensated` draws
add a rank-one term to W that makes every derivative larger, and move b so that nothing changes at
p; p is then found again on the rounded weights. A box that is not proved is not an instance.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from pydantic import Field, model_validator

from assay.errors import CannotCertify
from assay.proof import vnnlib as proof_vnnlib
from assay.proof.interval import Interval
from assay.proof.rules import polynomial as rule
from assay.proof.vnnlib import Question
from assay.question import vnnlib
from assay.question.property import Violation
from assay.question.region import Box
from assay.truth.assemble import Design, robust_instance, stated_instance, survives
from assay.truth.constructor import Constructor, Knobs
from assay.truth.dyadic import as_written, short_above
from assay.truth.instance import Instance
from assay.truth.power_network import GRID, Point, Shallow, drawn, line
from assay.truth.randomness import Integers, generator
from assay.truth.range_tree import range_tree

FAMILY = "polynomial"
_MOST_LINES = 32
_MOST_TREES = 1 << 14
_FARTHEST_STEPS = 1 << 16
_LIFTS = tuple(1 << k for k in range(5, 15))
"""What compensated draws add to weights, in steps of their grid; weights are about 2^12 steps."""
_OVERLAPS = tuple(Fraction(share, 16) for share in (1, 2, 4, 8, 16))


class PolynomialKnobs(Knobs):
    inputs: int = Field(100, ge=1, le=300, description="number of inputs n")
    hidden: int = Field(100, ge=2, le=500, description="number of hidden units h")
    degree: int = Field(10, ge=2, le=22, description="degree d of the network")
    push: float = Field(
        0.02, ge=1e-4, le=0.25, description="l_inf distance r of the centre from the boundary point"
    )
    delta: float = Field(
        1e-3, ge=1e-6, le=0.2, description="what the box's radius r - delta leaves to the boundary"
    )
    draw: Literal["compensated", "plain"] = Field(
        "compensated",
        description="compensated: derivatives lifted until a proof closes; plain: as drawn",
    )
    bias: float = Field(
        2.0,
        ge=0.5,
        le=8,
        description="largest hidden bias; larger ones make the boundary flatter within the box",
    )
    operator: Literal["pow", "mul"] = Field(
        "pow", description="one Pow node, or Mul nodes that square and multiply"
    )
    overlap: float | None = Field(
        None,
        ge=0,
        le=1,
        description="how far the twin reaches beyond the boundary point, in deltas; null: the "
        "least of 1/16 to 1 whose witness also violates in float32, or 0",
    )
    points: int = Field(
        8, ge=1, le=64, description="boundary points that a plain draw tries before it gives up"
    )
    leaves: int = Field(
        256, ge=1, le=4096, description="most leaves of a tree of hidden ranges, for plain draws"
    )

    @model_validator(mode="after")
    def _has_a_box(self) -> PolynomialKnobs:
        if self.delta >= self.push:
            raise ValueError(
                f"delta = {self.delta} leaves no box within push = {self.push}; lower delta or "
                "raise push"
            )
        if self.draw == "plain" and self.points * self.leaves > _MOST_TREES:
            raise ValueError(
                f"{self.points} points with {self.leaves} leaves each would take minutes to try; "
                "lower points or leaves"
            )
        return self


@dataclass(frozen=True)
class Candidate:
    """A network and the boundary point p, with the direction s that leads into the label."""

    network: Shallow
    boundary: Point
    signs: Integers

    def along(self, distance: Fraction) -> Point:
        """p + distance s."""
        return _moved(self.boundary, self.signs, distance)

    def box(self, push: Fraction, radius: Fraction) -> Box:
        return Box.around(self.along(push), radius)


def make(knobs: PolynomialKnobs, seed: int) -> list[Instance]:
    push, delta = (round(as_written(v) / GRID) * GRID for v in (knobs.push, knobs.delta))
    candidate = None
    for candidate in _candidates(knobs, seed):
        network, box = candidate.network, candidate.box(push, push - delta)
        ends = Interval.of(box.lower, box.upper)
        faces = rule.faces_left(network.exact, _question(network, box), ends)
        arrays, margin = None, rule.least_margin(faces, None)
        if margin <= 0 and knobs.draw == "plain":
            arrays = range_tree(faces, knobs.leaves)
            margin = rule.least_margin(faces, arrays)
        if margin > 0:
            questions = _Questions(knobs, seed, candidate, push, delta)
            return [questions.robust(margin, arrays), questions.violated()]
    if candidate is None:
        raise CannotCertify(
            f"polynomial: {_MOST_LINES} lines meet no boundary; raise inputs, "
            "take an odd degree or try another seed"
        )
    remedy = "lower push, raise delta or bias" + (
        ", or draw compensated" if knobs.draw == "plain" else ""
    )
    raise CannotCertify(f"polynomial: no box of this seed is proved; {remedy}")


def _candidates(knobs: PolynomialKnobs, seed: int) -> Iterator[Candidate]:
    """Boundary points of one drawn network, or of its ever stronger compensated changes."""
    draw = generator(FAMILY, knobs, seed)
    start, direction = line(draw, knobs.inputs)
    network = drawn(draw, knobs.inputs, knobs.hidden, knobs.degree, as_written(knobs.bias), start)
    boxes = 0
    for _ in range(_MOST_LINES):
        root = network.root_on_line(start, direction)
        if root is not None:
            near = tuple(
                round((a + root * v) / GRID) * GRID for a, v in zip(start, direction, strict=True)
            )
            signs = network.uphill(near)
            if knobs.draw == "compensated":
                for step in _LIFTS:
                    yield from _settled(network.lifted(near, signs, step), near, signs)
                return
            yield from _settled(network, near, signs)
            boxes += 1
        if boxes == knobs.points:
            return
        start, direction = line(draw, knobs.inputs)


def _settled(network: Shallow, near: Point, signs: Integers) -> Iterator[Candidate]:
    """The last point p along the diagonal through `near` with a negative margin, if there is one.

    The margin changes its sign between p and p + GRID signs.
    """

    def negative(steps: int) -> bool:
        return network.margin(_moved(near, signs, steps * GRID)) < 0

    low, high, stride = 0, 0, 1
    while negative(low) == negative(high):
        if stride > _FARTHEST_STEPS:
            return
        low, high = (high, high + stride) if negative(high) else (low - stride, low)
        stride *= 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if negative(middle) else (low, middle)
    yield Candidate(network, _moved(near, signs, low * GRID), signs)


def _moved(point: Point, signs: Integers, distance: Fraction) -> Point:
    return tuple(x + int(s) * distance for x, s in zip(point, signs, strict=True))


def _question(network: Shallow, box: Box) -> Question:
    """The question in the checker's terms."""
    return proof_vnnlib.read(vnnlib.write(box, _violation(network)).encode())


def _violation(network: Shallow) -> Violation:
    return Violation.misclassification(network.label, 2)


@dataclass(frozen=True)
class _Questions:
    """The two questions about a candidate whose smaller box is proved."""

    knobs: PolynomialKnobs
    seed: int
    candidate: Candidate
    push: Fraction
    delta: Fraction

    def robust(self, margin: Fraction, arrays: bytes | None) -> Instance:
        box = self.candidate.box(self.push, self.push - self.delta)
        return robust_instance(self._design(box), margin, arrays=arrays)

    def violated(self) -> Instance:
        """The box with the corner p, or p moved out by the overlap."""
        shares = _OVERLAPS if self.knobs.overlap is None else (as_written(self.knobs.overlap),)
        for share in (*shares, Fraction(0)):
            beyond = round(share * self.delta / GRID) * GRID
            box = self.candidate.box(self.push, self.push + beyond)
            witness = self.candidate.along(-beyond)
            margin = self.candidate.network.margin(witness)
            if margin >= 0:
                continue
            design, stated = self._design(box), short_above(margin)
            guarded = survives(design, Box(witness, witness), stated)
            if guarded or share == 0 or self.knobs.overlap is not None:
                break
        text = tuple(vnnlib.decimal(value) for value in witness)
        return stated_instance(
            design, "violated", stated, guarded, {"kind": "witness"}, witness=text
        )

    def _design(self, box: Box) -> Design:
        network = self.candidate.network
        return Design(
            FAMILY,
            self.knobs.model_dump(mode="json"),
            self.seed,
            (),
            box,
            _violation(network),
            {"push": str(self.push), "delta": str(self.delta)},
            onnx=network.onnx(self.knobs.operator),
        )


CONSTRUCTOR = Constructor(
    name=FAMILY,
    summary="a shallow polynomial network and a box that nearly touches its decision boundary",
    theorem="mu > 0 on the box: on faces where derivatives have one sign, then by second order",
    knobs=PolynomialKnobs,
    make=make,
)
