"""A family of one neuron, for tests of the builder: outputs level and relu(w x) - w on [-1, 1].

Its knobs make it slow, refuse seeds, repeat itself or fail, as a test needs.
"""

from __future__ import annotations

import os
import struct
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
from pydantic import Field

from assay.errors import BadInput, CannotCertify
from assay.question.property import Violation
from assay.question.region import Box
from assay.truth.assemble import Design, robust_instance, violated_instance
from assay.truth.constructor import Constructor, Knobs
from assay.truth.instance import Instance


class TinyKnobs(Knobs):
    level: float = Field(0.5, gt=0, le=8, description="the margin")
    steps: int = Field(1, ge=1, le=100, description="nothing; a whole number")
    sizes: tuple[int, ...] = Field((1, 2), description="nothing; a list")
    sleep: float = Field(0.0, ge=0, description="seconds to take")
    refuse: int = Field(0, ge=0, description="how many calls cannot be certified")
    same: bool = Field(False, description="ignore the seed")
    failure: str = Field("", description="how to fail")
    calls: str = Field("", description="folder that gets a file for every call")


def make(knobs: TinyKnobs, seed: int) -> list[Instance]:
    time.sleep(knobs.sleep)
    if knobs.failure == "input":
        raise BadInput("tiny: this level is not possible; lower it")
    if knobs.failure == "defect":
        raise ZeroDivisionError("a defect of the family")
    if knobs.failure == "death":
        os.kill(os.getpid(), 9)
    if knobs.calls:
        folder = Path(knobs.calls)
        earlier = len(list(folder.iterdir()))
        (folder / f"{earlier}-{seed}").write_text(os.environ["OMP_NUM_THREADS"])
        if earlier < knobs.refuse:
            raise CannotCertify(f"tiny: seed {seed} has no proof")
    weight = 1 if knobs.same else 1 + seed % 2**20
    box = Box((Fraction(-1),), (Fraction(1),))

    def design(level: float) -> Design:
        layers = (
            (np.array([[weight]], dtype=np.float32), np.zeros(1, dtype=np.float32)),
            (np.array([[0], [1]], dtype=np.float32), np.array([level, -weight], dtype=np.float32)),
        )
        shown = knobs.model_copy(update={"calls": ""}).model_dump(mode="json")
        return Design("tiny", shown, seed, layers, box, Violation.misclassification(0, 2))

    margin = Fraction(float(np.float32(knobs.level)))
    # no tightening; one tree of one leaf, whose multiplier is -1 / 2^1: exactly the margin
    arrays = struct.pack("<5i", 0, 1, -1, 1, -1)
    robust = robust_instance(design(knobs.level), margin, kind="relu_tree", arrays=arrays)
    return [robust, violated_instance(design(-knobs.level), (Fraction(1),))]


CONSTRUCTOR = Constructor(
    name="tiny",
    summary="one neuron",
    theorem="relu(w x) <= w on [-1, 1]",
    knobs=TinyKnobs,
    make=make,
)
