"""Planted counterexamples: known volumes, exact witnesses, robust twins, and refusals."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import onnx
import pytest
from ball_conformance import margin_bounds
from numpy.random import Generator
from onnx import numpy_helper
from planted_settings import (
    BACKGROUNDS,
    CONVEX,
    KINDS,
    PLACEMENTS,
    Floats,
    asked,
    probability,
    violating,
)
from pydantic import ValidationError

from assay.proof.checker import check
from assay.question import vnnlib
from assay.question.exact import evaluate
from assay.question.network import load
from assay.question.runtime import FloatRunner
from assay.truth.instance import Instance
from assay.truth.planted import PlantedKnobs, make, sow
from assay.truth.planting.concave import rotated_box, simplex, soft_box
from assay.truth.planting.placement import Site
from assay.truth.planting.plant import Plant, capped
from assay.truth.planting.tent import tent


@pytest.mark.parametrize("background", BACKGROUNDS)
@pytest.mark.parametrize("placement", PLACEMENTS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_everywhere_is_proved_and_its_witness_violates(
    kind: str, placement: str, background: str
) -> None:
    seed = PLACEMENTS.index(placement)
    for polarity in ("raise", "lower"):
        knobs = PlantedKnobs.model_validate(
            {
                "kind": kind,
                "placement": placement,
                "background": background,
                "polarity": polarity,
                "inputs": 6,
                "parities": 7,
                "neurons": 3,
                "dilution": 1,
                "folds": 1 + seed % 2,
            }
        )
        for instance in make(knobs, seed):
            truth = instance.truth
            verdict = check(instance.onnx, instance.vnnlib, truth.to_json().encode(), None)
            assert verdict.status == "verified", verdict.reason
            if truth.answer == "robust":
                assert truth.violation_probability is None
                continue
            low, high = probability(instance)
            assert 0 < low <= high < 1
            # an enclosure is within .05 %, everything else is exact
            assert high - low <= low / 2000
            assert (low == high) == (kind != "xor_lock")
            assert truth.witness is not None
            point = [Fraction(text) for text in truth.witness]
            network = load(instance.onnx, "planted")
            if background in ("mlp", "cnn"):
                margin = asked(instance).violation.margin(evaluate(network, point))
                assert margin == truth.margin < 0
            else:
                assert margin_bounds(instance, point)[1] <= truth.margin < 0
            assert [Fraction(float(np.float32(float(v)))) for v in point] == point
            assert float32_margin(instance) < 0


@pytest.mark.parametrize(
    ("kind", "background"), [*product(KINDS, ["mlp"]), *product(CONVEX, ["cnn"])]
)
def test_ordinary_settings_survive_float32(kind: str, background: str) -> None:
    for instance in make(PlantedKnobs.model_validate({"kind": kind, "background": background}), 1):
        assert instance.truth.guard == "float32"


@pytest.mark.parametrize("kind", KINDS)
def test_placements_are_what_they_say(kind: str) -> None:
    for placement in PLACEMENTS:
        knobs = PlantedKnobs.model_validate(
            {"kind": kind, "placement": placement, "inputs": 6, "folds": 1, "width": 0.1}
        )
        _, violated = make(knobs, 3)
        box, witness = asked(violated).box, violated.truth.witness
        assert witness is not None
        shares = [
            2 * float((Fraction(text) - low) / (high - low)) - 1
            for text, low, high in zip(witness, box.lower, box.upper, strict=True)
        ]
        if kind == "tent":
            # what one fold makes of it
            shares = [1 - 2 * abs(share) for share in shares]
        near = [abs(abs(share) - 1) <= 0.16 for share in shares]
        if placement == "corner":
            assert all(near)
        if placement == "face":
            assert any(near)
        if placement == "past_middle" and kind != "xor_lock":
            assert all(abs(share) < 0.25 for share in shares)


STEMS = ("pool", "padded_pool", "counted_pool", "matmul", "gemm", "sigmoid", "tanh")
OPERATORS = {"matmul": "MatMul", "gemm": "Gemm", "sigmoid": "Sigmoid", "tanh": "Tanh"}


@pytest.mark.parametrize("stem", STEMS)
@pytest.mark.parametrize("background", BACKGROUNDS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_behind_every_stem_is_proved(kind: str, background: str, stem: str) -> None:
    knobs = {"kind": kind, "background": background, "stem": stem, "inputs": 6, "parities": 7}
    try:
        asked_for = PlantedKnobs.model_validate({**knobs, "neurons": 3, "folds": 1})
    except ValidationError:
        return
    for instance in make(asked_for, 2):
        truth = instance.truth
        nodes = onnx.ModelProto.FromString(instance.onnx).graph.node
        assert OPERATORS.get(stem, "AveragePool") in {node.op_type for node in nodes}
        verdict = check(instance.onnx, instance.vnnlib, truth.to_json().encode(), None)
        assert verdict.status == "verified", verdict.reason
        if truth.answer == "violated":
            low, high = probability(instance)
            assert 0 < low <= high <= low * Fraction(2001, 2000)
            assert float32_margin(instance) < 0


def float32_margin(instance: Instance) -> Fraction:
    """The margin at the witness in ONNX Runtime."""
    row = np.array([[float(text) for text in instance.truth.witness or ()]], np.float32)
    outputs = FloatRunner(load(instance.onnx, "planted")).run(row)[0]
    return asked(instance).violation.margin([Fraction(float(v)) for v in outputs])


@pytest.mark.parametrize("height", [0.02, 1e-3, 1e-4])
@pytest.mark.parametrize("kind", KINDS)
def test_shallow_violations_survive_float32(kind: str, height: float) -> None:
    knobs = PlantedKnobs.model_validate(
        {"kind": kind, "height": height, "inputs": 5, "parities": 6, "folds": 1}
    )
    _, violated = make(knobs, 0)
    assert -1.5 * height * knobs.gamma < violated.truth.margin < -0.5 * height * knobs.gamma
    assert float32_margin(violated) < 0


@pytest.mark.parametrize("placement", ["face", "corner", "past_middle"])
@pytest.mark.parametrize("kind", CONVEX)
def test_a_plant_of_small_depth_hugs_its_placement(kind: str, placement: str) -> None:
    knobs = {"kind": kind, "placement": placement, "depth": 0.01, "inputs": 3}
    _, violated = make(PlantedKnobs.model_validate(knobs), 0)
    box, witness = asked(violated).box, violated.truth.witness
    assert witness is not None
    low, high = (np.array([float(v) for v in side]) for side in (box.lower, box.upper))
    shares = 2 * (np.array([float(text) for text in witness]) - low) / (high - low) - 1
    # how far from the face, or from the middle plane
    plane = np.zeros(3) if placement == "past_middle" else np.sign(shares)
    near = np.abs(shares - plane) < 0.01
    assert near.all() if placement == "corner" else near.any()
    # no point further than the depth from there violates, however many are tried near it
    draw = np.random.default_rng(1)
    steps = draw.normal(0, 1, (100_000, 3)) * np.where(near, 0.02, 0.3)
    points = np.clip(shares + steps, -1, 1)
    reached = np.abs(points - plane)[:, near]
    behind = (points * shares < 0)[:, near] if placement == "past_middle" else reached > 0.01
    apart = ((reached > 0.01) | behind).any(axis=1)
    hit = violating(violated, (low + high) / 2 + points * (high - low) / 2)
    assert hit.any()
    assert not hit[apart].any()


@pytest.mark.parametrize("kind", CONVEX)
def test_several_plants_have_their_own_targets(kind: str) -> None:
    for classes, targets in ((4, 3), (2, 1)):
        knobs = {"kind": kind, "plants": 3, "width": 0.1, "classes": classes, "inputs": 4}
        robust, violated = make(PlantedKnobs.model_validate(knobs), 0)
        for instance in (robust, violated):
            truth = instance.truth.to_json().encode()
            assert check(instance.onnx, instance.vnnlib, truth, None).status == "verified"
        plants = sow(PlantedKnobs.model_validate(knobs), 0).plants
        assert violated.truth.witness == tuple(map(vnnlib.decimal, plants[0].witness))
        won = set()
        for plant in plants:
            outputs = evaluate(load(violated.onnx, "planted"), plant.witness)
            assert asked(violated).violation.margin(outputs) < 0
            won.add(outputs.index(max(outputs)))
        assert len(won) == targets


CAPPED = (
    *({"placement": placement} for placement in PLACEMENTS),
    *({"background": background} for background in BACKGROUNDS[1:]),
    *({"stem": stem} for stem in ("pool", "padded_pool", "counted_pool", "matmul", "gemm")),
    {"placement": "face", "depth": 0.02},
    {"placement": "corner", "depth": 0.02},
    {"plants": 3, "width": 0.1},
    {"height": 1e-4},
    {"height": 8.0},
    {"polarity": "lower", "inputs": 3},
)


@pytest.mark.parametrize("knobs", CAPPED, ids=str)
@pytest.mark.parametrize("kind", KINDS[:4])
def test_caps_change_nothing_but_what_is_outside(kind: str, knobs: dict[str, Any]) -> None:
    shared = {"kind": kind, "inputs": 6, "neurons": 3, "folds": 1, **knobs}
    try:
        free = PlantedKnobs.model_validate(shared)
    except ValidationError:
        return
    limited = PlantedKnobs.model_validate({**shared, "charges": "capped"})
    (_, before), (robust, after) = make(free, 4), make(limited, 4)
    for instance in (robust, after):
        truth = instance.truth.to_json().encode()
        verdict = check(instance.onnx, instance.vnnlib, truth, None)
        assert verdict.status == "verified", verdict.reason
    assert asked(before).box == asked(after).box
    assert probability(before) == probability(after)
    if knobs.get("plants", 1) == 1:
        assert before.truth.witness == after.truth.witness
    assert float32_margin(after) < 0


@pytest.mark.parametrize("kind", CONVEX)
@pytest.mark.parametrize(("gamma", "height"), [(0.3, 3.3), (0.001, 3.3), (7.3, 7.9), (0.7, 1.1)])
def test_any_gamma_goes_with_any_height(kind: str, gamma: float, height: float) -> None:
    knobs = {"kind": kind, "gamma": gamma, "height": height, "inputs": 4}
    robust, violated = make(PlantedKnobs.model_validate(knobs), 0)
    assert abs(float(violated.truth.margin) / (gamma * height) + 1) < 0.01
    assert robust.truth.margin > 0


@pytest.mark.parametrize(("stem", "inputs"), [("tanh", 16), ("sigmoid", 24), ("tanh", 48)])
def test_many_inputs_behind_curves_are_enclosed(stem: str, inputs: int) -> None:
    knobs = {"stem": stem, "inputs": inputs, "neurons": 2}
    for instance in make(PlantedKnobs.model_validate(knobs), 0):
        truth = instance.truth.to_json().encode()
        assert check(instance.onnx, instance.vnnlib, truth, None).status == "verified"
    low, high = probability(instance)
    assert 0 < low < high < low * Fraction(1003, 1000)


@pytest.mark.parametrize("grown", [soft_box, rotated_box, simplex, partial(tent, folds=2)])
def test_a_capped_plant_has_no_slope_far_away(grown: Callable[[Generator, Site], Plant]) -> None:
    """What the bump is the ReLU of rises towards an open plant nearly everywhere."""
    count, epsilon, width = 6, Fraction(1, 8), Fraction(1, 10)
    site = Site(
        middle=(Fraction(0),) * count,
        epsilon=epsilon,
        width=width,
        placement="inside",
        depth=Fraction(0),
        tip=False,
        constant=Fraction(1, 2),
        excess=Fraction(1, 2),
    )
    free = grown(np.random.default_rng(5), site)
    limited = capped(free, free.heights.level)
    points = (np.random.default_rng(6).random((4000, count)) * 2 - 1) * float(epsilon)
    aside = np.random.default_rng(7).random(count) * 1e-7
    for plant, least, most in ((free, 0.99, 1), (limited, 0.01, 0.4)):
        steps = argument(plant, points + aside) - argument(plant, points)
        assert least <= (np.abs(steps) > 1e-10).mean() <= most
    # the same numbers where it violates, and never above the bound elsewhere
    near = np.array([float(v) for v in free.witness]) + points * float(width)
    before, after = (argument(plant, near) for plant in (free, limited))
    inside = before >= float(free.heights.bound)
    assert inside.any()
    assert np.allclose(before[inside], after[inside], rtol=0, atol=1e-12)
    assert (after[~inside] < float(free.heights.bound)).all()


def argument(plant: Plant, points: Floats) -> Floats:
    """What the bump is the ReLU of."""
    for weight, bias in plant.violated[:-1]:
        points = np.maximum(points @ weight.T + bias, 0)
    weight, bias = plant.violated[-1]
    return (points @ weight.T + bias)[:, 0]


@pytest.mark.parametrize("kind", CONVEX)
def test_the_largest_dimension_is_exact(kind: str) -> None:
    _, violated = make(PlantedKnobs.model_validate({"kind": kind, "inputs": 128}), 0)
    low, high = probability(violated)
    assert 0 < low == high < Fraction(1, 10**50)
    truth = violated.truth.to_json().encode()
    assert check(violated.onnx, violated.vnnlib, truth, None).status == "verified"


def test_long_locks_are_enclosed_closely() -> None:
    for knobs in ({"inputs": 128, "height": 8.0}, {"inputs": 40, "placement": "corner"}):
        asked_for = {"kind": "xor_lock", "parities": 140, "epsilon": 0.5, **knobs}
        low, high = probability(make(PlantedKnobs.model_validate(asked_for), 0)[1])
        assert 0 < low < high <= low * Fraction(2001, 2000)


def test_twins_differ_by_one_bias_or_one_parity() -> None:
    for kind in KINDS:
        knobs = PlantedKnobs.model_validate({"kind": kind, "inputs": 6, "parities": 7})
        tensors = [
            [numpy_helper.to_array(t) for t in onnx.ModelProto.FromString(i.onnx).graph.initializer]
            for i in make(knobs, 0)
        ]
        changed = sum(int((a != b).sum()) for a, b in zip(*tensors, strict=True))
        # a parity: two weights of the bump, what three bits hand on with their shift, its bias
        assert changed == 1 if kind != "xor_lock" else 3 <= changed <= 12


def test_dilution_fills_the_plants_rows() -> None:
    def zeros(dilution: int) -> int:
        knobs = PlantedKnobs(inputs=6, dilution=dilution, neurons=1)
        graph = onnx.ModelProto.FromString(make(knobs, 0)[1].onnx).graph
        bump = [numpy_helper.to_array(t) for t in graph.initializer][2]
        return int((bump == 0).sum(axis=1).max())

    assert zeros(0) == zeros(4) == 1, "only the background units that stand alone are not read"


@pytest.mark.parametrize(
    ("knobs", "words"),
    [
        ({"inputs": 129}, "lower inputs"),
        ({"inputs": 1}, "greater than or equal to 2"),
        ({"width": 0.31}, "contains the centre of the box; lower width"),
        ({"kind": "xor_lock", "inputs": 4}, "raise inputs"),
        ({"kind": "xor_lock", "inputs": 5, "parities": 11}, "lower parities"),
        ({"kind": "xor_lock", "inputs": 6, "parities": 21}, "6 bits have 20 triples"),
        ({"background": "transformer"}, "'mlp', 'cnn', 'sigmoid' or 'tanh'"),
        ({"kind": "torus"}, "'soft_box'"),
        ({"placement": "edge"}, "'inside'"),
        ({"classes": 11}, "less than or equal to 10"),
        ({"folds": 5}, "less than or equal to 4"),
        ({"stem": "dropout"}, "'none', 'pool'"),
        ({"plants": 2}, "two plants overlap: 2 of width 0.25 .* lower width to at most 0.2"),
        ({"plants": 3, "width": 0.15, "placement": "past_middle"}, "at most 0.1 or plants to 1"),
        ({"plants": 2, "width": 0.1, "kind": "tent"}, "lower plants to 1, or set kind"),
        ({"plants": 2, "width": 0.1, "stem": "tanh"}, "lower plants to 1, or set kind"),
        ({"plants": 3, "kind": "tent"}, "a tent .* lower plants to 1, or set kind"),
        ({"plants": 4}, "less than or equal to 3"),
        ({"kind": "simplex", "width": 0.01, "epsilon": 0.001}, "raise width, or epsilon"),
        (
            {"kind": "rotated_box", "placement": "face", "depth": 0.001, "epsilon": 0.01},
            "raise width or depth, or epsilon",
        ),
        ({"stem": "sigmoid", "kind": "simplex"}, "set kind to soft_box"),
        ({"stem": "matmul", "background": "cnn"}, "set background to mlp or stem to pool"),
        ({"stem": "pool", "background": "tanh"}, "set background to mlp or cnn"),
        ({"depth": 0.01}, "set placement to face, corner or past_middle"),
        ({"depth": 0.01, "placement": "face", "kind": "tent"}, "set depth to 0"),
        ({"charges": "closed"}, "'open' or 'capped'"),
        ({"charges": "capped", "kind": "xor_lock"}, "set charges to open"),
        ({"charges": "capped", "stem": "tanh"}, "set charges to open"),
        ({"charges": "capped", "tip": True}, "set charges to open"),
        ({"tip": True, "kind": "simplex"}, "set tip to false or kind to soft_box"),
    ],
)
def test_refusals_name_the_knob(knobs: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        PlantedKnobs.model_validate(knobs)
