"""Bumps that are said to meet nowhere: networks where they do meet, and claims against points."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from small_claims import Claimed, claimed

from assay.proof import reader, vnnlib
from assay.proof.arithmetic import Rejected, Unsupported
from assay.proof.claim import Claim
from assay.proof.rules import planted
from assay.question import vnnlib as question_vnnlib
from assay.question.graph import chain
from assay.question.property import Violation
from assay.question.region import Box

Array = NDArray[np.float64]
Layers = list[tuple[Array, Array]]


def asked(layers: Sequence[tuple[object, object]], lower: object, upper: object) -> Claimed:
    """Whether output 0 is the largest one, on a box."""
    floats = [(np.array(w, np.float32), np.array(b, np.float32)) for w, b in layers]
    sides = (tuple(Fraction(float(v)) for v in np.asarray(side)) for side in (lower, upper))
    violation = Violation.misclassification(0, len(floats[-1][1]))
    text = question_vnnlib.write(Box(*sides), violation)
    return claimed(chain(floats), text, kind="planted", margin="1/100")


def hinges(x: float, y: float) -> list[tuple[list[float], float]]:
    """Those of a rotated box around a point."""
    rows = [[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]]
    return [(row, -row[0] * x - row[1] * y - 1 / 16) for row in rows]


@pytest.mark.parametrize("lifted", [0.0, 8.0])
@pytest.mark.parametrize("guard", ["real", "float32"])
def test_what_an_input_adds_to_a_rotated_box_is_not_overlooked(lifted: float, guard: str) -> None:
    """Both bumps also rise by so much along the first input: then they meet at its upper end."""
    rows, biases = zip(*hinges(0.25, 0.25), *hinges(0.75, 0.625), strict=True)
    first = [*rows, [1.0, 0.0]], [*biases, 0.0]
    second = [[-1] * 4 + [0] * 4 + [lifted], [0] * 4 + [-1] * 4 + [lifted]], [1 / 64] * 2
    claim = asked([first, second, ([[0, 0], [7 / 64] * 2], [1, 0])], [0, 0], [1, 1])
    status = "rejected" if lifted else "verified"
    assert claim.stating(guard=guard).verdict().status == status


@pytest.mark.parametrize(("start", "status"), [(0.5, "rejected"), (1.25, "verified")])
def test_an_input_without_freedom_keeps_no_bumps_apart(start: float, status: str) -> None:
    """Both are positive where the second input is near 1, unless they start beyond that."""
    first = [[1.0, 1.0], [1.0, 0.75]], [-start - 1 / 8] * 2
    claim = asked([first, ([[0, 0], [1, 1]], [1, 0])], [0.5, 0], [0.5, 1])
    assert claim.verdict().status == status


def drawn(draw: np.random.Generator, inputs: int) -> Layers:
    """Several bumps an excess, of few rows and of single inputs; short dyadic numbers."""
    rows = draw.integers(-2, 3, (draw.integers(1, 4), inputs)) / 2
    count, bumps, outputs = (int(n) for n in draw.integers((3, 2, 2), (9, 5, 4)))
    scales = draw.choice([1, 1, 2, 0.5, -1], count)
    first = rows[draw.integers(0, len(rows), count)] * scales[:, None]
    biases = np.concatenate([draw.integers(-8, 9, count) / 16, np.zeros(inputs)])
    weights = draw.choice([0.0, 0.0, -1.0, -2.0, -4.0, 1.0], (bumps, count + inputs))
    last = np.concatenate([np.zeros((1, bumps)), draw.choice([0, 1, 1, 2], (outputs - 1, bumps))])
    return [
        (np.concatenate([first, np.eye(inputs)]), biases),
        (weights, draw.integers(-2, 9, bumps) / 8),
        (last, np.array([draw.integers(1, 17) / 8] + [0] * (outputs - 1))),
    ]


def least_at(layers: Layers, points: Array) -> Fraction:
    """The least margin at some points: exact, as all numbers are short."""
    values = points
    for weight, bias in layers[:-1]:
        values = np.maximum(values @ weight.T + bias, 0)
    outputs = values @ layers[-1][0].T + layers[-1][1]
    return Fraction(float((outputs[:, :1] - outputs[:, 1:]).min()))


def test_no_margin_is_claimed_that_points_contradict() -> None:
    draw = np.random.default_rng(20)
    proved = robust = 0
    for _ in range(1500):
        inputs = int(draw.integers(2, 4))
        fixed = draw.random(inputs) < 0.3
        lower, upper = np.where(fixed, 0.5, 0.0), np.where(fixed, 0.5, 1.0)
        layers = drawn(draw, inputs)
        grid = np.array(np.meshgrid(*[np.linspace(0, 1, 9)] * inputs)).reshape(inputs, -1).T
        points = np.concatenate([grid, draw.integers(0, 257, (200, inputs)) / 256])
        claim = asked(layers, lower, upper)
        try:
            margin = planted.prove(
                Claim(vnnlib.read(claim.vnnlib), reader.read(claim.onnx), None)
            ).margin
        except (Rejected, Unsupported):
            continue
        assert margin <= least_at(layers, lower + points * (upper - lower)), layers
        proved += 1
        robust += margin > 0
    assert proved > 1000
    assert robust > 200
