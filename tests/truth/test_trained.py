"""The family `trained`: what becomes an instance, by which proof, and the networks that ship."""

from __future__ import annotations

from fractions import Fraction
from typing import get_args

import numpy as np
import pytest
from pydantic import ValidationError

from assay.errors import CannotCertify
from assay.proof.checker import check
from assay.question import vnnlib
from assay.question.exact import ExactFunction
from assay.question.network import load
from assay.question.runtime import FloatRunner
from assay.truth.instance import Instance
from assay.truth.trained import Architecture, Network, TrainedKnobs, make
from assay.truth.training import questions
from assay.truth.training.architectures import ARCHITECTURES
from assay.truth.training.record import SHIPPED, read_shipped, shipped
from assay.truth.training.run import trained_here

WEAK = {"epochs": 100, "restarts": 4, "steps": 6, "window": 50}
"""An attack so weak that something stays hidden from it."""


def knobs(**turned: object) -> TrainedKnobs:
    return TrainedKnobs.model_validate({**WEAK, **turned})


def verified(instance: Instance) -> None:
    truth = instance.truth.to_json().encode()
    verdict = check(instance.onnx, instance.vnnlib, truth, instance.arrays)
    assert verdict.status == "verified", verdict.reason


def violates_in_float32(instance: Instance) -> bool:
    assert instance.truth.witness is not None
    (case,) = vnnlib.read(instance.vnnlib.decode(), instance.name).cases
    point = np.array([[float(Fraction(v)) for v in instance.truth.witness]], np.float32)
    (outputs,) = FloatRunner(load(instance.onnx, instance.name)).run(point)
    return case.violation.margin([Fraction(float(v)) for v in outputs]) < 0


def test_the_witness_is_the_planted_point_and_the_centre_is_right() -> None:
    turned = knobs(classes=3)
    trained = trained_here(turned.schedule, turned.setting(1))
    made = [i for i in make(turned, 1) if i.truth.answer == "violated"]
    assert made
    function = ExactFunction(load(trained.onnx, "net"))
    for instance in made:
        place = int(instance.name.split("-")[0])
        planted = [Fraction(float(v)) for v in trained.examples.counterexamples[place]]
        assert [Fraction(text) for text in instance.truth.witness or ()] == planted
        (case,) = vnnlib.read(instance.vnnlib.decode(), instance.name).cases
        assert case.box.contains(planted)
        assert case.violation.margin(function(planted)) <= instance.truth.margin < 0
        centre = [Fraction(float(v)) for v in trained.examples.centres[place]]
        assert case.violation.margin(function(centre)) > 0
        assert instance.onnx == trained.onnx
        verified(instance)
        assert violates_in_float32(instance)


def test_hidden_ones_are_some_of_the_planted_ones() -> None:
    hidden, planted = (
        {
            i.name
            for i in make(knobs(restarts=1, steps=2, keep=keep), 0)
            if i.truth.answer == "violated"
        }
        for keep in ("hidden", "planted")
    )
    trained = trained_here(knobs(restarts=1, steps=2).schedule, knobs().setting(0))
    assert hidden == {f"{place}-violated" for place in trained.kept} & planted
    assert hidden


def test_nothing_hidden_says_which_knob_to_turn() -> None:
    with pytest.raises(CannotCertify, match="network is hidden; raise epochs, restarts"):
        make(knobs(epochs=2, keep="hidden"), 0)


def test_regular_examples_are_robust_where_a_tree_proves_it() -> None:
    robust = [i for i in make(knobs(), 0) if i.truth.answer == "robust"]
    assert robust
    for instance in robust:
        assert int(instance.name.split("-")[0]) >= knobs().examples
        assert instance.truth.certificate["kind"] != "witness"
        verified(instance)
    assert all(i.truth.answer == "violated" for i in make(knobs(nodes=0), 0))


@pytest.mark.parametrize(("architecture", "window"), [("tiny_cnn", 10), ("vit", 4)])
def test_smooth_networks_are_proved_in_balls(architecture: str, window: int) -> None:
    turned = knobs(
        architecture=architecture, epochs=60, window=window, restarts=1, steps=1, epsilon=0.4
    )
    trained = trained_here(turned.schedule, turned.setting(0))
    labels, targets = trained.examples.labels, trained.examples.targets
    runner = FloatRunner(load(trained.onnx, "net"))
    said = runner.run(trained.examples.counterexamples).argmax(1)
    at_centre = runner.run(trained.examples.centres[: len(targets)]).argmax(1)
    made = [questions.violated(trained, place, {}, 0) for place in range(len(targets))]
    assert any(made)
    for place, instance in enumerate(made):
        right = at_centre[place] == labels[place] and said[place] == targets[place]
        assert (instance is not None) == right
        if instance is not None:
            assert instance.truth.guard == "real"
            verified(instance)
            assert violates_in_float32(instance)
        assert questions.robust(trained, len(targets) + place, {}, 0, 100) is None


@pytest.mark.parametrize(
    ("turned", "sentence"),
    [
        ({"architecture": "resnet"}, "architecture"),
        ({"classes": 11}, "classes"),
        ({"classes": 1}, "classes"),
        ({"epsilon": 0.0}, "epsilon"),
        ({"epsilon": 0.5, "examples": 20}, "lower epsilon or examples"),
        ({"network": "cnn_tanh", "epsilon": 0.5}, "cnn_tanh is trained already; leave out epsilon"),
        (
            {"network": "cnn_1_conv", "window": 3, "steps": 2},
            "leave out window, steps, or set netw",
        ),
    ],
)
def test_knobs_that_are_refused(turned: dict[str, object], sentence: str) -> None:
    with pytest.raises(ValidationError, match=sentence):
        TrainedKnobs.model_validate(turned)


def test_the_knobs_name_every_architecture() -> None:
    assert sorted(get_args(Architecture)) == sorted(ARCHITECTURES)


def test_the_knobs_name_every_network_that_ships() -> None:
    assert sorted(get_args(Network)) == sorted(["fresh", *shipped()])
    for name in shipped():
        assert (SHIPPED / f"{name}.json").exists()


@pytest.mark.parametrize("name", shipped())
def test_every_network_that_ships_hides_counterexamples(name: str) -> None:
    """Each builds; every kept example is an instance that the checker verifies."""
    trained = read_shipped(name)
    assert trained.name == name
    assert trained.kept
    made = make(TrainedKnobs(network=name, keep="hidden"), 0)  # type: ignore[arg-type]
    assert {i.name for i in made} == {f"{place}-violated" for place in trained.kept}
    for instance in made:
        assert instance.truth.parameters["network"] == name
        assert "epsilon" not in instance.truth.parameters
        verified(instance)
        assert violates_in_float32(instance)
