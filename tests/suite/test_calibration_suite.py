"""The bundled suite `calibration` holds what its description promises."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction
from pathlib import Path

import pytest
import torch

from assay.analyse.asked import of_case, only_case
from assay.analyse.roma_counted import RomaSettings, assess
from assay.question import vnnlib
from assay.question.network import load
from assay.suite.draw import draw_tasks
from assay.suite.spec import load_suite
from assay.truth.families import family
from assay.truth.instance import Instance


@pytest.fixture(scope="module")
def violated() -> list[Instance]:
    found = []
    for task in draw_tasks(load_suite("calibration"), None):
        made = family(task.family).make(task.knobs, task.seed)
        found.append(next(one for one in made if one.truth.answer == "violated"))
    return found


def rate(instance: Instance) -> float:
    said = instance.truth.violation_probability or {}
    return float(Fraction(said.get("exact") or said["lower"]))


def test_every_decade_is_there_in_several_shapes_and_dimensions(violated: list[Instance]) -> None:
    decades = {round(math.log10(rate(one))) for one in violated}
    assert decades == {-1, -2, -3, -4, -5, -6, -7}
    knobs = [one.truth.parameters for one in violated]
    kinds = {"soft_box", "rotated_box", "simplex", "tent", "xor_lock"}
    assert {k["kind"] for k in knobs} == kinds
    assert {2, 3, 5, 10} <= {k["inputs"] for k in knobs}


def test_enclosures_are_narrow(violated: list[Instance]) -> None:
    for one in violated:
        said = one.truth.violation_probability or {}
        if "exact" not in said:
            assert Fraction(said["upper"]) < Fraction(said["lower"]) * Fraction(1001, 1000)


def test_pockets_pass_for_normal(violated: list[Instance]) -> None:
    """RoMA accepts some of them often and claims next to nothing then."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # networks so small are slowed down by more
    fooled = []
    for one in violated:
        if one.truth.parameters["gamma"] < 100:
            continue
        case = only_case(vnnlib.read(one.vnnlib.decode(), "made").cases, Path("made"))
        asked = of_case(load(one.onnx, "made"), case)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = [assess(asked, RomaSettings(seed=seed)) for seed in range(10)]
        claims = [c for f in found if (c := f.extrapolation.failure_rate) is not None]
        assert all(claim < rate(one) / 10 for claim in claims)
        fooled.append(len(claims))
    torch.set_num_threads(threads)
    assert len(fooled) >= 5
    assert sum(count >= 5 for count in fooled) >= 2
