"""Labels under attack (10^5 points an instance in `make test-all`), decided in rationals."""

from __future__ import annotations

from fractions import Fraction

import pytest
from attacks import EVALUATIONS, attacked
from specimens import SETTINGS, made, of
from tier import sized

from assay.question import vnnlib
from assay.question.exact import ExactFunction
from assay.question.network import load

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("setting", SETTINGS)
def test_no_attack_gets_below_the_certified_margin(setting: str) -> None:
    for seed, instance in enumerate(of(setting, "robust")):
        attack = attacked(instance, seed)
        assert attack.evaluations >= EVALUATIONS
        found = attack.exact()
        assert len(found) >= 3
        for margin, point in found:
            assert attack.box.contains(point)
            assert margin >= instance.truth.margin > 0, f"{setting} {instance.name}: {point}"


@pytest.mark.parametrize("setting", SETTINGS)
def test_every_witness_violates_exactly_inside_the_box(setting: str) -> None:
    for instance in of(setting, "violated"):
        assert instance.truth.witness is not None
        witness = [Fraction(text) for text in instance.truth.witness]
        (case,) = vnnlib.read(instance.vnnlib.decode(), instance.name).cases
        assert case.box.contains(witness)
        margin = case.violation.margin(ExactFunction(load(instance.onnx, "net"))(witness))
        assert margin <= instance.truth.margin < 0


def test_the_attack_is_strong_enough_to_mean_something() -> None:
    """The same attack breaks most of the violated twins, and gets close to tight margins."""
    broken, tried = [], []
    for setting in sized([*SETTINGS][::3], [*SETTINGS]):
        instance = of(setting, "violated")[0]
        tried.append(setting)
        if min(margin for margin, _ in attacked(instance, 0).exact()) <= 0:
            broken.append(setting)
    assert len(broken) >= len(tried) * 0.6, f"only {broken}"


def test_the_sample_spans_families_and_hard_fractions() -> None:
    truths = [instance.truth for setting in SETTINGS for instance in made(setting)]
    assert {truth.family for truth in truths} == {
        "constant_box",
        "contractive_cnn",
        "corners",
        "exact_radius",
        "meap",
        "paired_bias",
        "planted",
        "polynomial",
        "residual",
        "trained",
    }
    assert any(truth.parameters.get("fraction") == 0.99999 for truth in truths)
    assert {truth.answer for truth in truths} == {"robust", "violated"}
