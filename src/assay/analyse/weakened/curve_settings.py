"""What a robustness curve asks of every input of a data set."""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

from assay.analyse.promise import MOST_SAMPLES, Promise
from assay.analyse.regions import Norm
from assay.analyse.rules import named
from assay.errors import BadInput

CHOICES = ("correct", "misclassified", "all")


@dataclass(frozen=True)
class CurveSettings:
    """What is asked of every input of a data set."""

    radii: tuple[float, ...]
    promises: tuple[Promise, ...]
    norm: Norm
    valid: tuple[float, float] | None = None
    levels: int | None = None
    method: str = "confidence-sequence"
    points: str = "correct"
    most_inputs: int | None = None
    confidence: float = 0.95
    seed: int = 0
    budget: int = MOST_SAMPLES

    def __post_init__(self) -> None:
        named(self.method)
        if not self.radii or not self.promises:
            raise BadInput("a curve needs at least one radius and one eps; give them")
        if any(not (math.isfinite(r) and r > 0) for r in self.radii):
            raise BadInput("a radius is not above 0; give positive numbers")
        for name, values in (("radius", self.radii), ("eps", [p.eps for p in self.promises])):
            twice = [value for value, times in Counter(values).items() if times > 1]
            if twice:
                raise BadInput(
                    f"{name} {twice[0]:g} is given twice, and inputs would count twice with it; "
                    "give it once"
                )
        if self.points not in CHOICES:
            raise BadInput(f"points {self.points!r} is unknown; give one of {', '.join(CHOICES)}")
        if self.most_inputs is not None and self.most_inputs < 1:
            raise BadInput("a curve over no inputs says nothing; give at least 1")
        if self.budget < 1:
            raise BadInput(f"a budget of {self.budget} samples decides nothing; give at least 1")
        if not 0 < self.confidence < 1:
            raise BadInput(f"confidence {self.confidence:g} is not between 0 and 1; try 0.95")

    @property
    def document(self) -> dict[str, Any]:
        settings = {k: v for k, v in asdict(self).items() if k != "promises"}
        return json.loads(json.dumps({**settings, "promises": [asdict(p) for p in self.promises]}))  # type: ignore[no-any-return]
