"""What a module of `assay.analyse.analysers` declares."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from assay.analyse.calibration.known import Effort, KnownQuestion
from assay.analyse.calibration.measured import Measured

Answer = Literal["decision", "interval", "bounds", "estimate", "samples"]


@dataclass(frozen=True)
class Analyser:
    """A method and how it is measured against a known rate.

    `promise` says in a sentence what it promises; `holds` is true if that is a theorem.
    """

    name: str
    answer: Answer
    promise: str
    holds: bool
    measure: Callable[[KnownQuestion, Effort], tuple[Measured, ...]]
