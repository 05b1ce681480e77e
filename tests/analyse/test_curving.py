"""Curves over data sets: decisions are independent, also of inputs that come twice."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from assay.analyse.inputs import Inputs
from assay.analyse.model import Model, callable_model
from assay.analyse.promise import Promise
from assay.analyse.weakened.curve_settings import CurveSettings
from assay.analyse.weakened.curving import DECISIONS, curve_over, document_of
from assay.errors import BadInput

SETTINGS = CurveSettings((1.0,), (Promise(0.2, 0.05, 0.1, 0.1),), "inf", points="all")


def sign() -> Model:
    """Label 0 up to 0.7 of the first input, label 1 above: a rate of .15 around zero."""
    return callable_model(lambda x: np.stack([np.full(len(x), 0.7), x[:, 0]], 1), (2,))


def equal_inputs(count: int) -> Inputs:
    return Inputs(np.zeros((count, 2)), np.zeros(count, np.int64), ("same",) * count)


def test_equal_inputs_are_decided_on_random_numbers_of_their_own() -> None:
    found = curve_over(sign(), equal_inputs(60), SETTINGS)
    assert len({(d.samples, d.failures) for d in found.decisions}) > 10
    verdicts = {d.verdict for d in found.decisions}
    assert verdicts == {"robust", "not robust"}  # the rate lies in the zone, where either is right


def test_an_input_is_decided_alike_whatever_stands_beside_it() -> None:
    alone = curve_over(sign(), equal_inputs(1), SETTINGS)
    other = Inputs(np.array([[0.1, 0.0], [0.0, 0.0]]), np.zeros(2, np.int64), ("a", "same"))
    beside = curve_over(sign(), other, SETTINGS)
    assert beside.decisions[1] == alone.decisions[0]


def test_a_stopped_curve_goes_on_where_names_come_twice(tmp_path: Path) -> None:
    data = replace(equal_inputs(4), labels=np.array([0, 1, 0, 1]))
    whole = curve_over(sign(), data, SETTINGS, tmp_path)
    assert [d.verdict for d in whole.decisions[1::2]] == ["not robust"] * 2
    lines = (tmp_path / DECISIONS).read_text().splitlines(keepends=True)
    assert [json.loads(line)["input"] for line in lines[1:]] == [0, 1, 2, 3]
    (tmp_path / DECISIONS).write_text("".join(lines[:3]))
    again = curve_over(sign(), data, SETTINGS, tmp_path)
    assert again.already == 2
    assert again.decisions == whole.decisions


def test_whether_the_promise_holds_is_said_also_where_nothing_is_decided() -> None:
    undecided = curve_over(sign(), equal_inputs(3), replace(SETTINGS, budget=1))
    assert (undecided.points[0].undecided, undecided.promise_holds) == (3, True)
    assert document_of(undecided)["promise_holds"] is True
    printed = curve_over(sign(), equal_inputs(3), replace(SETTINGS, method="paper"))
    assert document_of(printed)["promise_holds"] is False


def test_a_radius_or_an_eps_given_twice_is_refused() -> None:
    """Every input would count twice, and the bounds would be too narrow."""
    with pytest.raises(BadInput, match=r"radius 0\.1 is given twice"):
        replace(SETTINGS, radii=(0.1, 0.2, 0.1))
    with pytest.raises(BadInput, match=r"eps 0\.2 is given twice"):
        replace(SETTINGS, promises=(*SETTINGS.promises, Promise(0.2, 0.1)))
