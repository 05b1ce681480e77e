"""The questions about a trained network, each with its proof; or none, where nothing is proved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from assay.bounds.phase_tree import BudgetSpent, CounterexampleFound, LeafUndecided
from assay.errors import CannotCertify
from assay.proof import reader
from assay.proof import vnnlib as proof_vnnlib
from assay.proof.arithmetic import Unsupported, Vector
from assay.proof.ball_network import highest_margin
from assay.proof.network import read_network
from assay.question.mlp_layers import mlp_layers
from assay.question.network import load
from assay.question.property import Violation
from assay.question.region import Box
from assay.truth.assemble import Design, stated_violation, survives
from assay.truth.certified_radius import Subject, proved
from assay.truth.dyadic import short_above
from assay.truth.exact_radius import robust_by_tree
from assay.truth.instance import Instance
from assay.truth.training.architectures import ARCHITECTURES, Chain, Dense
from assay.truth.training.examples import Floats
from assay.truth.training.record import Trained

FAMILY = "trained"
_MOST_UNITS = 128
"""Of a network whose regular examples a tree of ReLU phases is tried on."""
Point = tuple[Fraction, ...]


def violated(
    trained: Trained, place: int, parameters: Mapping[str, object], seed: int
) -> Instance | None:
    """The question about an example with its witness; none if that or the centre is not right."""
    design = question(trained, place, parameters, seed)
    witness = _point(trained.examples.counterexamples[place])
    margin = _margin(design, witness)
    if margin >= 0 or _margin(design, _point(trained.examples.centres[place])) <= 0:
        return None
    stated = short_above(margin)
    return _alone(stated_violation(design, stated, _survives(design, witness, stated), witness))


def robust(
    trained: Trained, place: int, parameters: Mapping[str, object], seed: int, nodes: int
) -> Instance | None:
    """The question about a regular example, if a tree of at most `nodes` nodes proves it."""
    architecture = ARCHITECTURES[trained.schedule.architecture]
    if not isinstance(architecture, Chain) or architecture.activation != "relu":
        return None
    widths = [layer.width for layer in architecture.layers if isinstance(layer, Dense)]
    if len(widths) < len(architecture.layers) or sum(widths) > _MOST_UNITS:
        return None
    examples = trained.examples
    layers = mlp_layers(load(trained.onnx, trained.name))
    subject = Subject(layers, _point(examples.centres[place]), int(examples.labels[place]))
    if subject.margin(subject.centre) <= 0:
        return None
    try:
        proof = proved(subject, Fraction(examples.epsilon), 0.0, nodes)
        return _alone(robust_by_tree(question(trained, place, parameters, seed), proof))
    except (BudgetSpent, CounterexampleFound, LeafUndecided, CannotCertify):
        return None


def question(trained: Trained, place: int, parameters: Mapping[str, object], seed: int) -> Design:
    examples, radius = trained.examples, Fraction(trained.examples.epsilon)
    return Design(
        FAMILY,
        parameters,
        seed,
        (),
        Box.around(_point(examples.centres[place]), radius),
        Violation.misclassification(int(examples.labels[place]), trained.schedule.classes),
        {"epsilon": str(radius)},
        onnx=trained.onnx,
        prefix=f"{place}-",
    )


def _point(row: Floats) -> Point:
    return tuple(map(Fraction, row.tolist()))


def _alone(instance: Instance) -> Instance:
    """Without the twin that other families make of every instance."""
    return replace(instance, truth=replace(instance.truth, twin=None))


def _margin(design: Design, point: Point) -> Fraction:
    """Exact where layers are affine and ReLU, otherwise from above, within 128 bits."""
    graph, vector = reader.read(design.network_bytes()), Vector.of(point)
    try:
        outputs = read_network(graph).outputs(vector).fractions()
    except Unsupported:
        return highest_margin(graph, proof_vnnlib.read(design.question_bytes()), vector)
    return design.violation.margin(outputs)


def _survives(design: Design, witness: Point, margin: Fraction) -> bool:
    try:
        return survives(design, Box(witness, witness), margin)
    except Unsupported:
        return False
