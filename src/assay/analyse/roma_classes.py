"""RoMA over a data set: every input, and the mean of every class (the paper's categorical
robustness). No input is left out: where normality is rejected, the count stands in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, cast, get_args

import numpy as np
import torch
from numpy.typing import NDArray

from assay.analyse.asked import Asked, asked_about
from assay.analyse.inputs import Inputs, refuse_labels
from assay.analyse.kept import LabelSet
from assay.analyse.mean_rate import mean_rate_interval
from assay.analyse.model import Model
from assay.analyse.regions import Ball, Norm
from assay.analyse.roma_counted import RateInterval, RomaCounted, RomaSettings, assess
from assay.errors import BadInput

Keeping = Literal["prediction", "label"]
KEEPINGS = get_args(Keeping)


@dataclass(frozen=True)
class Surroundings:
    """What may happen to each input, and what the model must keep: its own word, or the label."""

    radius: float
    norm: Norm
    valid: tuple[float, float] | None = None
    levels: int | None = None
    keeping: Keeping = "prediction"


@dataclass(frozen=True, eq=False)
class InputResult:
    name: str
    label: int
    predicted: int
    asked: Asked
    result: RomaCounted


@dataclass(frozen=True)
class ClassResult:
    """Means over the inputs of a class; `label` is None for all inputs together."""

    label: int | None
    inputs: int
    misclassified: int
    accepted: int
    roma_failure_rate: float
    counted: RateInterval

    @property
    def disagrees(self) -> bool:
        return not self.counted.covers(self.roma_failure_rate)


def keeping_named(name: str) -> Keeping:
    if name not in KEEPINGS:
        raise BadInput(f"--keep {name} is unknown; give {' or '.join(KEEPINGS)}")
    return cast(Keeping, name)


def assess_inputs(
    model: Model, data: Inputs, surroundings: Surroundings, settings: RomaSettings
) -> Iterator[InputResult]:
    """One input after another; what is found does not depend on the others."""
    flat = data.points.reshape(len(data), -1)
    predicted = _predictions(model, flat, data)
    for number, (point, label, name) in enumerate(zip(flat, data.labels, data.names, strict=True)):
        kept = predicted[number] if surroundings.keeping == "prediction" else label
        try:
            region = Ball(
                point,
                surroundings.radius,
                surroundings.norm,
                surroundings.valid,
                surroundings.levels,
            )
            asked = asked_about(model, LabelSet((int(kept),)), region)
            result = assess(asked, settings, number)
        except BadInput as error:
            raise BadInput(f"{name}: {error}") from None
        yield InputResult(name, int(label), int(predicted[number]), asked, result)


def most_warned(results: Sequence[InputResult]) -> Asked:
    """The question whose warnings hold for the whole: the first that needed finer numbers."""
    widened = (r.asked for r in results if r.asked.model.is_widened)
    return next(widened, results[0].asked)


def by_class(results: Sequence[InputResult], confidence: float) -> tuple[ClassResult, ...]:
    """Every class, in order, and all inputs together at the end."""
    labels = sorted({result.label for result in results})
    classes = [
        _mean(label, [r for r in results if r.label == label], confidence) for label in labels
    ]
    return (*classes, _mean(None, results, confidence))


def _mean(label: int | None, results: Sequence[InputResult], confidence: float) -> ClassResult:
    failures = sum(r.result.counted.failures for r in results)
    trials = sum(r.result.counted.trials for r in results)
    lower, upper = mean_rate_interval(failures, trials, confidence)
    return ClassResult(
        label,
        len(results),
        sum(r.predicted != r.label for r in results),
        sum(r.result.extrapolation.accepted for r in results),
        float(np.mean([r.result.failure_rate for r in results])),
        RateInterval(failures, trials, lower, upper),
    )


def _predictions(model: Model, points: NDArray[np.float64], data: Inputs) -> NDArray[np.int64]:
    scores = model.scores(torch.from_numpy(points))
    refuse_labels(data, scores.shape[1])
    return np.asarray(scores.argmax(1).cpu().numpy(), np.int64)
