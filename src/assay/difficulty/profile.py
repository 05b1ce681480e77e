"""The difficulty profile of a question: Definition 1 of the paper, with its diagnostics.

    D = (M_min, G_IBP, U, A_tau, d_eff)

Samples, gradients and the search are float64 and may run on a GPU; bounds have outward rounding.
The same seed gives the same numbers, whatever the order, the names or the number of processes.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from assay.bounds.device import chosen_device
from assay.difficulty.gradients import (
    ETA,
    Dimension,
    Regions,
    cell_counts,
    effective_dimension,
)
from assay.difficulty.label import Label, held_to_label
from assay.difficulty.looseness import IntervalView, Looseness
from assay.difficulty.margin import MarginFunction
from assay.difficulty.sampling import Sampler, biased_to_boundary
from assay.difficulty.search import MOST_BOXES, Lowest, Samples, searched
from assay.difficulty.settings import Settings
from assay.errors import BadInput
from assay.question.network import Network
from assay.question.property import Specification

_TOO_COARSE = "tau is too coarse for A_tau: all gradients round to zero; give a smaller --tau"


@dataclass(frozen=True)
class Profile:
    """The five components, and beside them what explains each of them.

    `coarse` says that all gradients round to zero on the grid of width tau: A_tau is then blind.

    `seconds` is what the five took; the search for a lower margin and the linear bounds are
    counted apart.
    """

    minimum: float
    interval: IntervalView
    regions: Regions
    dimension: Dimension
    lowest: float
    found_by: str
    point: tuple[float, ...]
    on_faces: float
    linear_floor: float
    steepest: float
    coarse: bool
    samples: int
    inputs: int
    seconds: float
    search_seconds: float
    linear_seconds: float
    note: str = ""

    @property
    def interval_gap(self) -> float:
        """G_IBP of Eq. 11."""
        return relative_gap(self.minimum, self.interval.floor)

    @property
    def linear_gap(self) -> float:
        return relative_gap(self.minimum, self.linear_floor)

    @property
    def searched_gap(self) -> float:
        """G_IBP with the searched minimum in the place of the sampled one."""
        return relative_gap(self.lowest, self.interval.floor)


class _Clock:
    """Seconds by part of the work."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, part: str) -> None:
        now = time.perf_counter()
        self.seconds[part] = self.seconds.get(part, 0.0) + now - self._last
        self._last = now


def relative_gap(minimum: float, floor: float) -> float:
    return (minimum - floor) / (abs(minimum) + ETA)


def profile(
    network: Network,
    specification: Specification,
    settings: Settings,
    label: Label | None = None,
) -> Profile:
    """The profile of one question.

    `label` is what a truth says of it. A margin below what it certifies is looked into with exact
    arithmetic, and raises WrongLabel if the label is wrong.
    """
    clock = _Clock()
    function = MarginFunction(network, specification.cases, chosen_device(settings.device))
    _refuse_points(network, function)
    sampler = Sampler(function, settings.seed)
    # Every box needs a point of both halves.
    count = max(settings.samples, 2 * len(function.cases))
    points, cases = sampler.points(count)
    samples = Samples(points, cases, *function.with_gradients(points, cases))
    _refuse_undefined(network, samples.margins, samples.gradients)
    looseness = Looseness(network, function.cases)
    interval = looseness.interval(settings.tau)
    clock.lap("components")
    linear = looseness.linear()
    clock.lap("linear")
    found = searched(function, samples, linear.slopes, sampler.stream(settings.seed, "search"))
    (minimum, lowest), noted = held_to_label(function, (samples.first(), found.lowest), label)
    clock.lap("search")
    regions, steepest, coarse = _regions(function, sampler, samples, found.steepest, settings)
    halves = _halves(count, len(function.cases))
    resampling = sampler.stream(settings.seed, "resampling")
    dimension = effective_dimension(samples.gradients.cpu().numpy(), halves, resampling)
    clock.lap("components")
    return Profile(
        minimum=minimum,
        interval=interval,
        regions=regions,
        dimension=dimension,
        lowest=lowest,
        found_by=found.lowest.stage,
        point=tuple(found.lowest.point.tolist()),
        on_faces=_on_faces(function, found.lowest),
        linear_floor=linear.floor,
        steepest=steepest,
        samples=count,
        inputs=int(function.free.any(0).sum()),
        seconds=clock.seconds["components"],
        search_seconds=clock.seconds["search"],
        linear_seconds=clock.seconds["linear"],
        coarse=coarse,
        note="; ".join(filter(None, (noted, _TOO_COARSE * coarse, _few_boxes(function)))),
    )


def _refuse_undefined(network: Network, margins: Tensor, gradients: Tensor) -> None:
    undefined = ~(torch.isfinite(margins) & torch.isfinite(gradients.abs().sum(1)))
    if bool(undefined.any()):
        raise BadInput(
            f"{network.place}: {int(undefined.sum())} of {len(margins)} sampled inputs have no "
            "finite margin or gradient; narrow the box to where the network is defined"
        )


def _refuse_points(network: Network, function: MarginFunction) -> None:
    if bool(function.free.any()):
        return
    narrow = any(case.box.lower != case.box.upper for case in function.cases)
    problem = (
        "float64 cannot tell the ends of any box apart"
        if narrow
        else "every box of the question is a single point"
    )
    raise BadInput(
        f"{network.place}: {problem}, so there is nothing to profile; widen the bounds of an input"
    )


def _regions(
    function: MarginFunction,
    sampler: Sampler,
    samples: Samples,
    steepest: float,
    settings: Settings,
) -> tuple[Regions, float, bool]:
    """A_tau, with twice as many samples as long as nearly every one has a cell of its own.

    Returns L_c too, the largest gradient of all that were seen, those of more samples included,
    and whether the grid is too coarse to see anything.
    """
    seen = [samples.gradients.cpu().numpy()]
    most = settings.growth * len(seen[0])
    while True:
        regions = Regions.of(cell_counts(seen, settings.tau, steepest))
        if not regions.saturated or regions.samples >= most:
            break
        points, cases = sampler.points(min(regions.samples, most - regions.samples))
        margins, more = function.with_gradients(points, cases)
        _refuse_undefined(function.network, margins, more)
        steepest = max(steepest, float(more.abs().sum(1).max()))
        seen.append(more.cpu().numpy())
    largest = max(float(np.abs(part).max(initial=0.0)) for part in seen)
    return regions, steepest, 0 < largest < settings.tau * steepest / 2


def _few_boxes(function: MarginFunction) -> str:
    boxes = len(function.cases)
    return f"{MOST_BOXES} of {boxes} boxes searched in depth" if boxes > MOST_BOXES else ""


def _halves(samples: int, boxes: int) -> list[np.ndarray]:
    biased = biased_to_boundary(np.arange(samples), boxes)
    return [np.flatnonzero(~biased), np.flatnonzero(biased)]


def _on_faces(function: MarginFunction, lowest: Lowest) -> float:
    """The share of free inputs that lie on a face of the box."""
    lower, upper = function.lower[lowest.case], function.upper[lowest.case]
    free = upper > lower
    faces = (lowest.point == lower) | (lowest.point == upper)
    return float(faces[free].double().mean()) if bool(free.any()) else 1.0
