"""What a witness is worth: honest ones, forged ones, and those on the edge of arithmetic."""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_instances import instance, question, write_folder

from assay.errors import BadInput
from assay.judge.witness import TOLERANCE, classify, classify_files
from assay.question.exact import evaluate
from assay.question.graph import GraphBuilder
from assay.question.network import Network, load
from assay.question.property import Case, Inequality, Specification, Violation
from assay.question.region import Box
from assay.question.sexpr import decimal


def texts(point: Sequence[Fraction]) -> tuple[str, ...]:
    return tuple(decimal(value) for value in point)


def moved(setting: str, by: Fraction) -> tuple[Network, Specification, tuple[str, ...]]:
    """The true witness with one coordinate that lies on the box's border moved out of it."""
    made = instance(setting, "violated")
    network, specification = question(made)
    assert made.truth.witness is not None
    point = [Fraction(v) for v in made.truth.witness]
    box = specification.cases[0].box
    index = next(i for i, v in enumerate(point) if v in (box.lower[i], box.upper[i]))
    point[index] += by if point[index] == box.upper[index] else -by
    return network, specification, texts(point)


def at_most(threshold: Fraction | int) -> Violation:
    """Y_0 <= threshold."""
    return Violation(1, ((Inequality(((0, Fraction(1)),), Fraction(threshold)),),))


def at_least(threshold: Fraction) -> Violation:
    return Violation(1, ((Inequality(((0, Fraction(-1)),), -threshold),),))


def absorbing() -> Network:
    """(x + 2^24) - 2^24: the identity, but zero in float32 for small x."""
    graph = GraphBuilder((1, 1))
    big = np.full((1, 1), 2.0**24, np.float32)
    return load(graph.build(graph.sub(graph.add(graph.input, big), big)), "absorbing")


def smooth() -> Network:
    graph = GraphBuilder((1, 2))
    return load(graph.build(graph.softmax(graph.tanh(graph.input))), "smooth")


UNIT = Box((Fraction(0),), (Fraction(1),))


@pytest.mark.parametrize("setting", ["meap", "corners", "edge"])
def test_the_witness_of_a_truth_is_exact(setting: str) -> None:
    made = instance(setting, "violated")
    report = classify(*question(made), made.truth.witness)
    assert report.witness_class == "exact"
    assert report.establishes
    assert report.margin == (made.truth.margin, made.truth.margin)
    assert report.outside == 0
    if made.truth.guard == "float32":
        assert report.float32_margin is not None
        assert report.float32_margin <= 0


@pytest.mark.parametrize("setting", ["meap", "corners", "edge"])
def test_the_centre_of_a_robust_box_is_no_violation(setting: str) -> None:
    network, specification = question(instance(setting, "robust"))
    box = specification.cases[0].box
    centre = [(low + high) / 2 for low, high in zip(box.lower, box.upper, strict=True)]
    report = classify(network, specification, texts(centre))
    assert report.witness_class == "no violation"
    assert report.margin is not None
    assert report.margin[0] > 0


def test_forged_outside_by_a_trillionth() -> None:
    network, specification, witness = moved("corners", Fraction(1, 10**12))
    report = classify(network, specification, witness)
    assert report.outside == Fraction(1, 10**12)
    # As written it is no counterexample; its float32 numbers, which a tool computes with, are.
    assert report.witness_class == "float32 only"
    assert report.rounded_is_exact
    assert report.float32_outside == 0


@pytest.mark.parametrize(
    ("by", "expected"),
    [
        (Fraction(1, 10**5), "within tolerance only"),
        (TOLERANCE, "within tolerance only"),
        (TOLERANCE + Fraction(1, 10**12), "outside box"),
        (Fraction(1), "outside box"),
        (Fraction(10) ** 300, "outside box"),
    ],
)
def test_farther_outside(by: Fraction, expected: str) -> None:
    network, specification, witness = moved("corners", by)
    report = classify(network, specification, witness)
    assert (report.witness_class, report.outside) == (expected, by)
    assert not report.establishes


@pytest.mark.parametrize(
    "witness",
    [
        None,
        (),
        ("0.1", "0.2"),
        ("0.1",) * 4,
        ("0.1",) * 100_000,
        ("nan", "0.1", "0.2"),
        ("0.1", "-NaN", "0.2"),
        ("inf", "0.1", "0.2"),
        ("-Infinity", "0.1", "0.2"),
        ("1e999999999", "0.1", "0.2"),
        ("1e-999999999", "0.1", "0.2"),
        ("1" * 10_000, "0.1", "0.2"),
        ("0x10", "0.1", "0.2"),
        ("1_0", "0.1", "0.2"),
        ("1/3", "0.1", "0.2"),
        ("\u0661", "0.1", "0.2"),
        ("", "0.1", "0.2"),
        ("forged\n(", "0.1", "0.2"),
    ],
    ids=lambda w: repr(w)[:30],
)
def test_no_point_at_all_is_missing(witness: tuple[str, ...] | None) -> None:
    report = classify(*question(instance("meap", "violated")), witness)
    assert report.witness_class == "missing"
    assert report.detail


def test_float32_decides_what_the_reals_deny() -> None:
    report = classify(absorbing(), Case(UNIT, at_most(0)), ("0.25",))
    assert report.witness_class == "float32 only"
    assert report.margin == (Fraction(1, 4), Fraction(1, 4))
    assert report.float32_margin == 0
    assert not report.rounded_is_exact


def test_the_reals_decide_what_float32_denies() -> None:
    report = classify(absorbing(), Case(UNIT, at_least(Fraction(1, 4))), ("0.25",))
    assert report.witness_class == "exact"
    assert report.float32_margin == Fraction(1, 4)


def test_outputs_that_are_not_finite_violate_nothing() -> None:
    graph = GraphBuilder((1, 1))
    network = load(graph.build(graph.exp(graph.exp(graph.input))), "tower")
    box = Box((Fraction(0),), (Fraction(100),))
    report = classify(network, Case(box, at_least(Fraction(1))), ("99",))
    assert report.witness_class == "no violation"
    assert "not finite" in report.detail


class TestSmoothOperators:
    box = Box((Fraction(-1),) * 2, (Fraction(1),) * 2)
    first_loses = Violation(2, ((Inequality(((0, Fraction(1)), (1, Fraction(-1))), Fraction(0)),),))

    def test_balls_prove_a_violation(self) -> None:
        report = classify(smooth(), Case(self.box, self.first_loses), ("0.1", "0.2"))
        assert report.witness_class == "exact"
        assert report.margin is not None
        assert report.margin[0] <= report.margin[1] < 0

    def test_balls_refute_one(self) -> None:
        report = classify(smooth(), Case(self.box, self.first_loses), ("0.2", "0.1"))
        assert report.witness_class == "no violation"

    def test_a_difference_that_only_many_bits_show(self) -> None:
        nearly = f"0.5{'0' * 300}1"
        report = classify(smooth(), Case(self.box, self.first_loses), ("0.5", nearly))
        assert report.witness_class == "exact"

    def test_a_tie_is_never_called_exact(self) -> None:
        report = classify(smooth(), Case(self.box, self.first_loses), ("0.1", "0.1"))
        assert report.witness_class == "float32 only"
        assert "undecided" in report.detail


def test_the_best_case_counts() -> None:
    network = absorbing()
    far = Case(Box((Fraction(7),), (Fraction(8),)), at_most(9))
    near = Case(Box((Fraction(1, 2),), (Fraction(1),)), at_most(9))
    hit = Case(UNIT, at_most(9))
    assert classify(network, Specification((far,)), ("0.25",)).witness_class == "outside box"
    report = classify(network, Specification((far, near, hit)), ("0.25",))
    assert (report.witness_class, report.case) == ("exact", 2)


def test_files_of_another_question_are_refused() -> None:
    network, _ = question(instance("meap", "robust"))
    _, other = question(instance("corners", "robust"))
    with pytest.raises(BadInput, match="give the files of one question"):
        classify(network, other, ("0",) * 3)


def test_from_files(tmp_path: Path) -> None:
    made = instance("meap", "violated")
    folder = write_folder(tmp_path / "benchmark", [made])
    onnx, vnnlib = folder / f"onnx/{made.name}.onnx", folder / f"vnnlib/{made.name}.vnnlib"
    assert classify_files(onnx, vnnlib, made.truth.witness).witness_class == "exact"
    with pytest.raises(BadInput, match="cannot be read"):
        classify_files(onnx, folder / "absent.vnnlib", made.truth.witness)


def test_the_document_is_json_however_long_the_numbers() -> None:
    network, specification, witness = moved("corners", Fraction(1, 10**12))
    long = (*witness[:-1], f"{witness[-1]}{'0' * 900}1")
    document = classify(network, specification, long).document()
    assert json.loads(json.dumps(document))["class"] in ("float32 only", "within tolerance only")


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-300, 300), min_size=3, max_size=3), st.sampled_from(["0", "0000001"]))
def test_exact_means_inside_and_violating(steps: list[int], tail: str) -> None:
    made = instance("meap", "violated")
    network, specification = question(made)
    witness = tuple(f"{step / 256:.8f}{tail}" for step in steps)
    point = [Fraction(text) for text in witness]
    case = specification.cases[0]
    is_exact = case.box.contains(point) and case.violation.margin(evaluate(network, point)) <= 0
    assert (classify(network, specification, witness).witness_class == "exact") == is_exact
