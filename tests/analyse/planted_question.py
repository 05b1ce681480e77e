"""A planted question in memory, with its proven failure rate."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

from assay.analyse.asked import only_case
from assay.analyse.calibration.known import KnownQuestion
from assay.question.network import load
from assay.question.vnnlib import read
from assay.truth.planted import PlantedKnobs, make


def known_question(seed: int = 0, claimed_times: int = 1, **knobs: object) -> KnownQuestion:
    """`claimed_times` makes the claimed rate so many times the true one."""
    made = make(PlantedKnobs.model_validate(knobs), seed)[1]
    said = made.truth.violation_probability or {}
    lower, upper = said.get("exact") or said["lower"], said.get("exact") or said["upper"]
    case = only_case(read(made.vnnlib.decode(), "made").cases, Path("made"))
    return KnownQuestion(
        "made",
        str(knobs["kind"]),
        load(made.onnx, "made"),
        case,
        claimed_times * Fraction(lower),
        claimed_times * Fraction(upper),
    )
