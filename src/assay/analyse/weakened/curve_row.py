"""One row of a curve: an input and a radius, decided for every eps from the same samples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assay.analyse.asked import around
from assay.analyse.model import Model
from assay.analyse.model_source import ModelSource, opened
from assay.analyse.rules import rule_for
from assay.analyse.weakened.curve import UNDECIDED, InputDecision
from assay.analyse.weakened.curve_settings import CurveSettings
from assay.analyse.weakened.decide import decide_all

READS = ("torch", "scipy.stats", __name__)


@dataclass(frozen=True, eq=False)
class CurveItem:
    """Input `number` of the data set; `purpose` tells the random numbers of equal inputs apart."""

    source: ModelSource | None
    number: int
    name: str
    point: np.ndarray
    label: int
    correct: bool
    radius: float
    purpose: str
    settings: CurveSettings

    @property
    def title(self) -> str:
        return f"{self.name} at {self.radius:g}"


def decide_item(item: CurveItem) -> list[InputDecision]:
    """Decide it here (in a worker)."""
    assert item.source is not None
    return decided_about(opened(item.source), item)


def decided_about(model: Model, item: CurveItem) -> list[InputDecision]:
    settings = item.settings
    asked = around(
        model,
        item.point,
        (item.label,),
        item.radius,
        settings.norm,
        valid=settings.valid,
        levels=settings.levels,
    )
    said = decide_all(
        asked,
        [rule_for(settings.method, promise) for promise in settings.promises],
        seed=settings.seed,
        purpose=item.purpose,
        budget=settings.budget,
    )
    return [
        InputDecision(
            item.name,
            item.label,
            item.correct,
            item.radius,
            d.rule.promise.eps,
            UNDECIDED if d.verdict is None else d.verdict.value,
            d.samples,
            d.failures,
        )
        for d in said
    ]
