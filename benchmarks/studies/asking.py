"""The questions of the studies: models and images by name, perturbations of pixels 0 to 255.

Noise is not clipped to 0 to 255, as in the paper. Radii are searched on a scale on which a random
point of the ball is as bright a noise in every norm: a coordinate of a uniform point has the
variance r^2 / 3 in l_inf, about r^2 / d in l_2 and about 2 r^2 / d^2 in l_1.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from functools import cache, partial

import numpy as np
import torch
from real_models.datasets import DATASETS, LabelledImages
from real_models.models import model_named
from real_models.real_model import predicted

from assay.analyse.asked import Asked, around
from assay.analyse.model import Model
from assay.analyse.promise import Promise, inner_rate
from assay.analyse.regions import Norm
from assay.analyse.weakened.radius import Radius, Search, largest_radius
from studies.driving import Document, Size

FURTHEST = 512.0
"""Radii of l_inf are looked for up to here: twice what pixels can differ."""
BUDGET = 200_000
"""Samples of one decision; a radius that they do not settle is not called robust."""


@cache
def loaded(name: str, device: str) -> Model:
    return model_named(name).analysed(device)


@cache
def data_of(name: str) -> str:
    return model_named(name).data


@cache
def images_for(name: str) -> LabelledImages:
    """The test images of a model's data set."""
    return DATASETS[data_of(name)]("test")


def rightly_classified(name: str, images: LabelledImages, device: str) -> np.ndarray:
    return np.asarray(predicted(loaded(name, device), images).numpy() == images.labels)


def first_correct(name: str, count: int, device: str) -> np.ndarray:
    """The numbers of the first test images that the model gets right."""
    images, found = images_for(name), np.empty(0, np.int64)
    for start in range(0, len(images), 500):
        some = np.arange(start, min(start + 500, len(images)))
        right = rightly_classified(name, images.chosen(some), device)
        found = np.concatenate([found, some[right]])
        if len(found) >= count:
            break
    return found[:count]


def promise_of(eps: float) -> Promise:
    return Promise(eps, inner_rate(eps))


def equal_noise(norm: Norm, dimension: int) -> float:
    """The radius in this norm whose noise has the variance of radius 1 in l_inf."""
    factors = {"inf": 1.0, "2": math.sqrt(dimension / 3), "1": dimension / math.sqrt(6)}
    return factors[norm]


def precision(size: Size, finest: float = 1.0, budget: int = BUDGET) -> Document:
    """What a part says about its search of radii: how finely, and samples of one decision.

    Both are as in l_inf; other norms take the radius of equal noise.
    """
    return {"finest": 64.0, "budget": 2_000} if size.quick else {"finest": finest, "budget": budget}


def search_of(norm: Norm, dimension: int, part: Document) -> Search:
    """The search that a part asks for, in a norm."""
    unit, promise = equal_noise(norm, dimension), promise_of(part["eps"])
    return Search(FURTHEST * unit, part["finest"] * unit, promise, budget=part["budget"])


def radius_of(
    model: Model, point: np.ndarray, labels: Sequence[int], norm: Norm, search: Search
) -> Document:
    """The radius of one input, as a document."""
    begun = time.perf_counter()
    ask = partial(_at, model, point, tuple(labels), norm)
    return _document(largest_radius(ask, search), time.perf_counter() - begun)


def _at(
    model: Model, point: np.ndarray, labels: tuple[int, ...], norm: Norm, radius: float
) -> Asked:
    return around(model, point, labels, radius, norm)


def _document(found: Radius, seconds: float) -> Document:
    decided = [step.decided for step in found.steps]
    return {
        "radius": round(found.radius, 4),
        "bounded": found.turns_at is not None,
        "confirmed": found.confirmed,
        "robust_above": [round(radius, 4) for radius in found.robust_above],
        "decisions": len(decided),
        "unsettled": sum(d.verdict is None for d in decided),
        "samples": sum(d.samples for d in decided),
        "seconds": round(seconds, 4),
    }


def warmed(model: Model) -> Model:
    """The same model after a few batches: the first on a GPU take seconds of preparation."""
    while True:
        rows = model.rows
        model.scores(torch.zeros(rows, model.inputs, device=model.device))
        if model.rows == rows:
            return model
