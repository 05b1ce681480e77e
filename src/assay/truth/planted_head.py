"""A linear read-out planted on any network, so that every class is as close as asked.

The network is body -> flatten -> minus its value at the centre -> a linear layer; the two steps
between are left out where the read-out sees one row already and needs no shift. With zero biases
a rule of the checker bounds how far each excess f_y - f_k can drop below its value at the centre
on the box. The bias of class k then sets its nominal margin to `slack` times that drop, or a hair
more: biases are float32 numbers, rounded towards safety. What is written is proved once more.

The twin gives one rival less than the drop that is attained at a corner of the box, its witness.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from flint import ctx
from numpy.typing import NDArray

from assay.errors import CannotCertify
from assay.proof import arithmetic, reader
from assay.proof import vnnlib as proof_vnnlib
from assay.proof.ball_network import BallNetwork, Values, excess, highest_margin
from assay.proof.balls import BITS, Balls, ceiling, floor, over_box
from assay.proof.checker import proven_margin
from assay.proof.claim import Claim
from assay.proof.refusals import TooMuch
from assay.question import vnnlib
from assay.question.graph import GraphBuilder
from assay.question.property import Violation
from assay.question.region import Box
from assay.truth.dyadic import float32_at_least, float32_at_most, short_above, short_below
from assay.truth.instance import Instance, sha256
from assay.truth.record import Answer, Truth

Body = Callable[[GraphBuilder], str]
"""Adds a network to a graph whose input is (1, *shape); returns its last tensor."""

Floats = NDArray[np.float32]
_ROUNDS = 6
_LOOSEST = 10
"""A certified drop may be so many times the one that is attained."""


@dataclass(frozen=True)
class Plan:
    """A body and what to plant on it; `rule` names the checker's rule that proves it.

    `least_excesses` is that rule's bound of every excess from below. The search for the twin's
    witness begins at the centre and at the corners `starts`.
    """

    family: str
    parameters: Mapping[str, object]
    seed: int
    shape: tuple[int, ...]
    body: Body
    readout: Floats
    centre: tuple[Fraction, ...]
    epsilon: Fraction
    label: int
    slack: Fraction
    slack_knob: str
    rule: str
    least_excesses: Callable[[Claim], list[Fraction]]
    remedy: str
    shifted: bool = True
    starts: tuple[tuple[Fraction, ...], ...] = ()
    facts: Mapping[str, str] = field(default_factory=dict)

    @property
    def box(self) -> Box:
        return Box.around(self.centre, self.epsilon)

    @property
    def classes(self) -> int:
        return len(self.readout)

    def refusal(self, reason: Exception) -> CannotCertify:
        """Other numbers do not help where the network is too large."""
        remedy = "make the network smaller" if isinstance(reason, TooMuch) else self.remedy
        return CannotCertify(f"{self.family}: {reason}; {remedy}")

    def question(self) -> bytes:
        violation = Violation.misclassification(self.label, self.classes)
        return vnnlib.write(self.box, violation).encode()

    def network(self, shift: Floats | None, biases: Floats) -> bytes:
        graph = GraphBuilder((1, *self.shape))
        rows = self.body(graph)
        if shift is not None:
            rows = graph.sub(graph.flatten(rows), shift)
        return graph.build(graph.gemm(rows, self.readout, biases))


@dataclass(frozen=True)
class Room:
    """A rival's excess without biases: at the centre, and at least over the box."""

    nominal_low: Fraction
    nominal_high: Fraction
    least: Fraction

    @property
    def drop(self) -> Fraction:
        return self.nominal_high - self.least


@dataclass(frozen=True)
class Attained:
    """The rival (a number among the rivals), a corner, and how far it drops there at least."""

    rival: int
    corner: tuple[Fraction, ...]
    drop: Fraction


def planted(plan: Plan) -> list[Instance]:
    shift = _shift(plan) if plan.shifted else None
    bare = plan.network(shift, np.zeros(plan.classes, dtype=np.float32))
    search = _Search(plan, bare)
    rooms = search.rooms()
    found = search.attained(rooms)
    certified = rooms[found.rival].drop
    if certified > _LOOSEST * found.drop:
        raise CannotCertify(
            f"{plan.family}: the certified drop is more than {_LOOSEST} times the one that is "
            f"attained; {plan.remedy}"
        )
    biases = [float32_at_most(room.nominal_low - plan.slack * room.drop) for room in rooms]
    lowered = list(biases)
    depth = min(plan.slack - 1, Fraction(1, 2))
    lowered[found.rival] = float32_at_least(
        rooms[found.rival].nominal_high - found.drop * (1 - depth)
    )
    facts = {
        **plan.facts,
        "epsilon": str(plan.epsilon),
        "drop_certified": str(short_above(certified, longest=0)),
        "drop_attained": str(short_below(found.drop, longest=0)),
    }
    return [
        _robust(plan, plan.network(shift, _with_label(plan, biases)), facts),
        _violated(plan, plan.network(shift, _with_label(plan, lowered)), facts, found.corner),
    ]


def _with_label(plan: Plan, biases: Sequence[Fraction]) -> Floats:
    values = [float(bias) for bias in biases]
    values.insert(plan.label, 0.0)
    return np.array(values, dtype=np.float32)


def _shift(plan: Plan) -> Floats:
    """The body's value at the centre, to the nearest float32."""
    graph = GraphBuilder((1, *plan.shape))
    network = BallNetwork(reader.read(graph.build(graph.flatten(plan.body(graph)))))
    with ctx.workprec(BITS):
        values = network.values(_at(network, plan.centre))
        middles = [(floor(v) + ceiling(v)) / 2 for v in network.outputs(values)]
    return np.array([[float(middle) for middle in middles]]).astype(np.float32)


def _at(network: BallNetwork, point: Sequence[Fraction]) -> Balls:
    return over_box(point, point, network.graph.input_shape)


class _Search:
    """What the network without biases does on the box."""

    def __init__(self, plan: Plan, onnx: bytes) -> None:
        self.plan = plan
        self.question = proof_vnnlib.read(plan.question())
        self.network = BallNetwork(reader.read(onnx))
        self.rivals = [inequality for (inequality,) in self.question.disjuncts]

    def rooms(self) -> list[Room]:
        try:
            least = self.plan.least_excesses(Claim(self.question, self.network.graph, None))
        except (arithmetic.Rejected, arithmetic.Unsupported) as reason:
            raise self.plan.refusal(reason) from None
        with ctx.workprec(BITS):
            values = self.network.values(_at(self.network, self.plan.centre))
            nominal = [excess(rival, self.network.outputs(values)) for rival in self.rivals]
            return [
                Room(floor(value), ceiling(value), low)
                for value, low in zip(nominal, least, strict=True)
            ]

    def attained(self, rooms: Sequence[Room]) -> Attained:
        """The rival that comes closest to its bound at a corner that was found."""
        with ctx.workprec(BITS):
            starts = (self.plan.centre, *self.plan.starts)
            found = [self._downhill(start, rooms) for start in starts]
        best = max(found, key=lambda attained: attained.drop / rooms[attained.rival].drop)
        if best.drop <= 0:
            raise CannotCertify(
                f"{self.plan.family}: no corner lowers an excess; try another seed, or "
                f"{self.plan.remedy}"
            )
        return best

    def _downhill(self, start: tuple[Fraction, ...], rooms: Sequence[Room]) -> Attained:
        """From corner to corner, for the rival that promises to come closest to its bound."""
        values = self.network.values(_at(self.network, start))
        slopes = [self.network.gradient(values, rival) for rival in self.rivals]
        drops = [self._drop(values, k, room) for k, room in enumerate(rooms)]
        promises = [
            float(drop) + float(self.plan.epsilon) * sum(abs(float(g.mid())) for g in row)
            for drop, row in zip(drops, slopes, strict=True)
        ]
        shares = [p / float(room.drop) for p, room in zip(promises, rooms, strict=True)]
        rival = shares.index(max(shares))
        best, slope = Attained(rival, start, drops[rival]), slopes[rival]
        for _ in range(_ROUNDS):
            corner = tuple(
                c - self.plan.epsilon if g.mid() > 0 else c + self.plan.epsilon
                for c, g in zip(self.plan.centre, slope, strict=True)
            )
            values = self.network.values(_at(self.network, corner))
            drop = self._drop(values, rival, rooms[rival])
            if drop <= best.drop:
                break
            best = Attained(rival, corner, drop)
            slope = self.network.gradient(values, self.rivals[rival])
        return best

    def _drop(self, values: Values, rival: int, room: Room) -> Fraction:
        """How far a rival's excess has fallen at least, where these values are."""
        outputs = self.network.outputs(values)
        return room.nominal_low - ceiling(excess(self.rivals[rival], outputs))


def _robust(plan: Plan, onnx: bytes, facts: Mapping[str, str]) -> Instance:
    question = plan.question()
    try:
        margin = proven_margin(onnx, question, plan.rule, None)
    except (arithmetic.Rejected, arithmetic.Unsupported) as reason:
        raise plan.refusal(reason) from None
    if margin <= 0:
        raise CannotCertify(f"{plan.family}: the margin is not positive; raise {plan.slack_knob}")
    return _instance(plan, onnx, question, "robust", short_below(margin), facts)


def _violated(
    plan: Plan, onnx: bytes, facts: Mapping[str, str], corner: tuple[Fraction, ...]
) -> Instance:
    question = plan.question()
    graph, asked = reader.read(onnx), proof_vnnlib.read(question)
    margin = highest_margin(graph, asked, arithmetic.Vector.of(corner))
    if margin >= 0:
        raise CannotCertify(
            f"{plan.family}: the witness keeps a margin of {float(margin):.3g}; raise "
            f"{plan.slack_knob}"
        )
    return _instance(plan, onnx, question, "violated", short_above(margin), facts, corner)


def _instance(
    plan: Plan,
    onnx: bytes,
    question: bytes,
    answer: Answer,
    margin: Fraction,
    facts: Mapping[str, str],
    witness: Sequence[Fraction] | None = None,
) -> Instance:
    truth = Truth(
        answer=answer,
        margin=margin,
        guard="real",
        family=plan.family,
        parameters=dict(plan.parameters),
        seed=plan.seed,
        twin="violated" if answer == "robust" else "robust",
        onnx_sha256=sha256(onnx),
        vnnlib_sha256=sha256(question),
        certificate={"kind": plan.rule if witness is None else "witness"},
        witness=None if witness is None else tuple(map(vnnlib.decimal, witness)),
        facts=dict(facts),
    )
    return Instance(answer, onnx, question, truth)
