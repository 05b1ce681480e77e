"""Only what survives exact arithmetic in float32 numbers ends an attack."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
import torch
from small_questions import affine, asked, positive

from assay.attack.battery import Budget, attacks, run
from assay.attack.method import Effort
from assay.attack.target import Found, Target
from assay.bounds.device import device_named
from assay.difficulty.margin import MarginFunction
from assay.errors import BadInput
from assay.question.point_evaluation import PointEvaluation
from assay.question.region import Box

TINY = Fraction(1, 2**40)


def target(offset: float, box: Box) -> Target:
    network = affine([[1.0]], [offset])
    return Target(MarginFunction(network, asked((box, positive())).cases), 0, 0, "test")


def at(found: Target, value: float) -> None:
    found.outputs(torch.tensor([[value]], dtype=torch.float64))


def test_a_tie_violates() -> None:
    found = target(0.5, Box((Fraction(-1),), (Fraction(1),)))
    at(found, 0.25)
    with pytest.raises(Found) as end:
        at(found, -0.5)
    assert end.value.point == (Fraction(-1, 2),)
    assert end.value.margin == 0
    assert (found.queries, found.margin) == (2, 0.0)


def test_what_rounding_to_float32_mends_is_not_found() -> None:
    """x = -1/2 - 2^-40 violates x >= -1/2 by itself, but no float32 number is near enough."""
    found = target(0.5 + 2.0**-24, Box((Fraction(-1, 2) - TINY,), (Fraction(1),)))
    at(found, float(Fraction(-1, 2) - TINY))
    assert found.margin > 0
    slightly = target(0.5, Box((Fraction(-1),), (Fraction(1),)))
    with pytest.raises(Found) as end:
        at(slightly, -0.5 - 2.0**-40)
    assert end.value.point == (Fraction(-1, 2),)


def test_a_box_without_float32_numbers_keeps_its_own() -> None:
    third = Fraction(1, 3)
    found = target(-0.5, Box((third,), (third,)))
    with pytest.raises(Found) as end:
        at(found, 1 / 3)
    assert end.value.point == (third,)


@pytest.mark.parametrize("exact", [None, (Fraction(-1), Fraction(1))])
def test_what_exact_arithmetic_cannot_decide_is_remembered(
    monkeypatch: pytest.MonkeyPatch, exact: tuple[Fraction, Fraction] | None
) -> None:
    monkeypatch.setattr(PointEvaluation, "margin", lambda *_: exact)
    found = target(0.5, Box((Fraction(-1),), (Fraction(1),)))
    at(found, 0.0)
    assert found.undecided == ""
    at(found, -0.75)
    assert "margin -0.25" in found.undecided


def test_an_attack_that_fails_does_not_cost_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("no gradient\nhere")

    monkeypatch.setitem(attacks(), "corners", replace(attacks()["corners"], run=fail))
    question = affine([[1.0]], [2.0]), asked((Box((Fraction(-1),), (Fraction(1),)), positive()))
    corners, points = run(*question, Budget(attacks=("corners", "random")), "cpu")
    assert corners.defect == "RuntimeError: no gradient here"
    assert corners.in_vain == "ended early (RuntimeError: no gradient here)"
    assert points.in_vain == ""
    assert points.queries == 50_000


def test_a_constant_network_can_be_attacked_by_everybody() -> None:
    question = affine([[0.0]], [2.0]), asked((Box((Fraction(-1),), (Fraction(1),)), positive()))
    for result in run(*question, Budget(), "cpu"):
        assert result.defect == ""
        assert result.note or result.margin == 2


def test_strength_multiplies_the_effort() -> None:
    assert Effort(50).times(10) == Effort(500)
    assert Effort(7, 20).times(10) == Effort(35, 40)
    assert Effort(7, 20).times(1) == Effort(7, 20)
    assert Effort(7, 20).times(3) == Effort(11, 40)
    assert Effort(7, 20).shared(4) == Effort(2, 20)
    for attack in attacks().values():
        most, usual = attack.effort.times(10), attack.effort
        assert most.restarts * most.steps >= 10 * usual.restarts * usual.steps


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Budget(strength=0), "--strength 0 is not between 1 and 1000"),
        (lambda: Budget(attacks=("randon",)), "no attack 'randon'; did you mean 'random'?"),
        (lambda: device_named("tpu"), "--device tpu is not known; give cpu, cuda or auto"),
    ],
)
def test_bad_budgets(make: object, sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence.replace("?", "\\?")):
        make()  # type: ignore[operator]


def test_nothing_asked_is_refused() -> None:
    with pytest.raises(BadInput, match="nothing is asked"):
        run(affine([[1.0]], [0.0]), asked(), Budget(attacks=("random",)))
