"""Questions of proven answer to attack, made by the families themselves."""

from __future__ import annotations

from typing import Any

from assay.question.network import Network, load
from assay.question.property import Specification
from assay.question.vnnlib2 import read_any
from assay.truth.families import family

Question = tuple[Network, Specification]


def twins(name: str, seed: int = 1, **knobs: Any) -> dict[str, Question]:
    """The questions of one draw by their answers."""
    constructor = family(name)
    made = constructor.make(constructor.knobs(**knobs), seed)
    return {
        instance.truth.answer: (
            load(instance.onnx, instance.name),
            read_any(instance.vnnlib.decode(), instance.name),
        )
        for instance in made
    }
