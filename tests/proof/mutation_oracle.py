"""Whether a claim is true, decided without the checker.

The files are read by `assay.question`, values are exact rationals. A robust claim on one input is
decided completely (`exact_minimum`). With more inputs, floats look for bad points among corners,
random points and lines through the worst ones; what they find is judged exactly, so that a
refutation is a proof, while `True` means that a strong search found nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product

import numpy as np
import onnxruntime as ort
from exact_minimum import Layer, Point, forward, least_on_segment
from mutation_campaign import Oracle
from numpy.typing import NDArray
from segments import measured
from small_claims import Claimed
from unrolled import unrolled

from assay.errors import AssayError
from assay.question import vnnlib
from assay.question.convolution import ConvLayer
from assay.question.exact import evaluate
from assay.question.floaterror import survives_float32
from assay.question.mlp_layers import chain_layers
from assay.question.network import Network, load
from assay.question.property import Case
from assay.question.region import Box

Floats = NDArray[np.float64]
_RATIONAL = re.compile(r"-?[0-9]+(/[0-9]*[1-9][0-9]*)?")
_DECIMAL = re.compile(r"-?[0-9]+(\.[0-9]*)?")


@dataclass(frozen=True)
class Asked:
    """A question as `assay.question` reads it."""

    network: Network
    layers: list[Layer]
    case: Case

    @cached_property
    def floats(self) -> list[tuple[Floats, Floats]]:
        return [(np.array(w, np.float64), np.array(b, np.float64)) for w, b in self.layers]

    def margin(self, outputs: Point) -> Fraction:
        return self.case.violation.margin(outputs)


def asked(claim: Claimed) -> Asked | None:
    """The question, or None if the files state none about affine maps, ReLUs and skips."""
    try:
        network = load(claim.onnx, "mutant")
        (case,) = vnnlib.read(claim.vnnlib.decode(), "mutant").cases
        layers = _exact_layers(network)
        if (case.box.dimension, case.violation.outputs) != (network.inputs, network.outputs):
            return None
        outputs = evaluate(network, case.box.lower)
    except (AssayError, ValueError):
        return None
    question = Asked(network, layers, case)
    assert forward(question.layers, case.box.lower)[-1] == outputs
    return question


def _exact_layers(network: Network) -> list[Layer]:
    if network.operators & {"AveragePool", "MatMul"}:
        return measured(network)
    if "Conv" not in network.operators and "Add" in network.operators:
        return unrolled(network)
    dense = [x.dense() if isinstance(x, ConvLayer) else x for x in chain_layers(network)]
    return [
        ([[Fraction(float(w)) for w in row] for row in weight], [Fraction(float(b)) for b in bias])
        for weight, bias in dense
    ]


def holds(claim: Claimed) -> bool:
    """Whether the claim is a true statement about its files, as far as it can be refuted."""
    text = claim.truth["margin"]
    if not isinstance(text, str) or not _RATIONAL.fullmatch(text):
        return False
    margin = Fraction(text)
    if claim.truth["answer"] == "robust":
        question = asked(claim)
        return question is not None and margin > 0 and least(question) >= margin
    point = witness(claim)
    return point is not None and margin <= 0 and violates(claim, point, margin)


def violates(claim: Claimed, point: Point, margin: Fraction) -> bool:
    """Whether the margin at a point of the box is at most so much; on any network."""
    try:
        network = load(claim.onnx, "mutant")
        (case,) = vnnlib.read(claim.vnnlib.decode(), "mutant").cases
        inside = case.box.contains(point) and case.violation.outputs == network.outputs
        return inside and case.violation.margin(evaluate(network, point)) <= margin
    except (AssayError, ValueError):
        return False


def witness(claim: Claimed) -> list[Fraction] | None:
    texts = claim.truth.get("witness")
    if not isinstance(texts, list) or not all(_DECIMAL.fullmatch(str(text)) for text in texts):
        return None
    return [Fraction(text) for text in texts]


def least(question: Asked) -> Fraction:
    """The least margin on the box: exact for one input, otherwise the least that was found."""
    layers, box = question.layers, question.case.box
    if box.dimension == 1:
        found, point = least_on_segment(layers, question.margin, box.lower, box.upper)
        assert question.margin(evaluate(question.network, point)) == found
        return found
    low, high = (np.array([float(v) for v in side]) for side in (box.lower, box.upper))
    points = _candidates(low, high)
    order = np.argsort(_float_margins(question, points), kind="stable")
    exact = [_inside(points[i], box) for i in order[:3]]
    best = min((question.margin(forward(layers, point)[-1]), point) for point in exact)
    # from the worst point along the first inputs, exactly
    for i in range(box.dimension if box.dimension <= 3 else 1):
        ends = [[*best[1][:i], end, *best[1][i + 1 :]] for end in (box.lower[i], box.upper[i])]
        best = min(best, least_on_segment(layers, question.margin, *ends))
    return best[0]


def _candidates(low: Floats, high: Floats) -> Floats:
    draw = np.random.default_rng(len(low))
    inside = low + draw.random((256, len(low))) * (high - low)
    corners = [np.where(choice, high, low) for choice in product((False, True), repeat=len(low))]
    return np.concatenate([np.array(corners), inside])


def _float_margins(question: Asked, points: Floats) -> Floats:
    values = points
    for index, (weight, bias) in enumerate(question.floats):
        values = (np.maximum(values, 0) if index else values) @ weight.T + bias
    excesses = [
        np.max(
            [sum(float(c) * values[:, i] for i, c in q.terms) - float(q.bound) for q in disjunct],
            axis=0,
        )
        for disjunct in question.case.violation.disjuncts
    ]
    found: Floats = np.min(excesses, axis=0)
    return found


def _inside(point: Floats, box: Box) -> list[Fraction]:
    bounds = zip(box.lower, point, box.upper, strict=True)
    return [min(max(Fraction(float(v)), low), high) for low, v, high in bounds]


def guard_is_allowed(claim: Claimed) -> bool:
    """Whether the error formula, in its other implementation, lets a float32 guard stand.

    Only for boxes and witnesses in float32, and margins that are the best provable ones.
    """
    question = asked(claim)
    assert question is not None
    box = question.case.box
    if claim.truth["answer"] == "violated":
        point = witness(claim)
        assert point is not None
        box = Box(tuple(point), tuple(point))
    margin = Fraction(claim.truth["margin"])
    return survives_float32(question.floats, box, question.case.violation, margin)


def float32_agrees(claim: Claimed) -> bool:
    """Whether ONNX Runtime gives the claimed answer at the witness, or wherever it is tried."""
    question = asked(claim)
    assert question is not None
    box, robust = question.case.box, claim.truth["answer"] == "robust"
    if robust:
        low, high = (np.array([float(v) for v in side]) for side in (box.lower, box.upper))
        chosen = _candidates(low, high)[:200]
        points = np.clip(chosen.astype(np.float32), low.astype(np.float32), high.astype(np.float32))
    else:
        point = witness(claim)
        assert point is not None
        points = np.array([[float(v) for v in point]], np.float32)
        if [Fraction(float(v)) for v in points[0]] != point:
            return False
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = ort.InferenceSession(claim.onnx, options, providers=["CPUExecutionProvider"])
    name, shape = session.get_inputs()[0].name, session.get_inputs()[0].shape
    for row in points:
        (outputs,) = session.run(None, {name: row.reshape(shape)})
        if not np.isfinite(outputs).all():
            return False
        margin = question.margin([Fraction(float(v)) for v in outputs.ravel()])
        if robust != (margin > 0):
            return False
    return True


EXACT = Oracle(holds, float32_agrees)
