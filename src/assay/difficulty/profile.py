"""The difficulty profile of a question: Definition 1 of the paper, with its diagnostics.

    D = (M_min, G_IBP, U, A_tau, d_eff)

Samples, gradients and the search are float64 and may run on a GPU; bounds have outward rounding.
The same seed gives the same numbers, whatever the order, the names or the number of processes.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import torch
from torch import Tensor

from assay.difficulty.gradients import (
    ETA,
    Cells,
    Dimension,
    Regions,
    effective_dimension,
)
from assay.difficulty.label import held_to_label
from assay.difficulty.looseness import IntervalView, Looseness
from assay.difficulty.margin import MarginFunction
from assay.difficulty.sampling import Sampler, biased_to_boundary
from assay.difficulty.search import STAGES, Lowest, searched
from assay.difficulty.settings import Settings
from assay.errors import BadInput
from assay.question.network import Network
from assay.question.property import Specification


@dataclass(frozen=True)
class Profile:
    """The five components, and beside them what explains each of them.

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
    certified: Fraction | None = None,
) -> Profile:
    """The profile of one question.

    `certified` is the margin that a truth of the answer robust promises: a margin found below it
    is looked into with exact arithmetic, and raises WrongLabel if the label is wrong.
    """
    clock = _Clock()
    function = MarginFunction(network, specification.cases, _device(settings.device))
    if not bool(function.free.any()):
        raise BadInput(
            f"{network.place}: every box of the question is a single point, so there is nothing "
            "to profile; widen the bounds of some input"
        )
    sampler = Sampler(function, settings.seed)
    # Every box needs a point of both halves.
    count = max(settings.samples, 2 * len(function.cases))
    points, cases = sampler.points(count)
    margins, gradients = function.with_gradients(points, cases)
    _refuse_undefined(network, margins, gradients)
    clock.lap("components")
    draw = sampler.stream(settings.seed, "search")
    found = searched(function, points, cases, margins, gradients, draw)
    clock.lap("search")
    regions = _regions(function, sampler, gradients, found.steepest, settings)
    halves = _halves(count, len(function.cases))
    resampling = sampler.stream(settings.seed, "resampling")
    dimension = effective_dimension(gradients.cpu().numpy(), halves, resampling)
    looseness = Looseness(network, function.cases)
    interval = looseness.interval(settings.tau)
    clock.lap("components")
    first = int(margins.argmin())
    sampled = Lowest(float(margins[first]), points[first], int(cases[first]), STAGES[0])
    (minimum, lowest), note = held_to_label(function, (sampled, found.lowest), certified)
    clock.lap("search")
    linear_floor = looseness.linear()
    clock.lap("linear")
    return Profile(
        minimum=minimum,
        interval=interval,
        regions=regions,
        dimension=dimension,
        lowest=lowest,
        found_by=found.lowest.stage,
        point=tuple(found.lowest.point.tolist()),
        on_faces=_on_faces(function, found.lowest),
        linear_floor=linear_floor,
        steepest=found.steepest,
        samples=count,
        inputs=int(function.free.sum()),
        seconds=clock.seconds["components"],
        search_seconds=clock.seconds["search"],
        linear_seconds=clock.seconds["linear"],
        note=note,
    )


def _device(name: str) -> torch.device:
    if name == "cuda" and not torch.cuda.is_available():
        raise BadInput("--device cuda: torch sees no GPU here; give cpu, or install a CUDA build")
    return torch.device(name)


def _refuse_undefined(network: Network, margins: Tensor, gradients: Tensor) -> None:
    undefined = ~(torch.isfinite(margins) & torch.isfinite(gradients).all(1))
    if bool(undefined.any()):
        raise BadInput(
            f"{network.place}: {int(undefined.sum())} of {len(margins)} sampled inputs have no "
            "finite margin or gradient; narrow the box to where the network is defined"
        )


def _regions(
    function: MarginFunction,
    sampler: Sampler,
    gradients: Tensor,
    steepest: float,
    settings: Settings,
) -> Regions:
    """A_tau, with twice as many samples as long as nearly every one has a cell of its own."""
    cells = Cells(settings.tau, steepest)
    cells.add(gradients.cpu().numpy())
    most = settings.growth * len(gradients)
    while cells.saturated and cells.samples < most:
        more = sampler.points(min(cells.samples, most - cells.samples))
        cells.add(function.with_gradients(*more)[1].cpu().numpy())
    return Regions.of(cells)


def _halves(samples: int, boxes: int) -> list[np.ndarray]:
    biased = biased_to_boundary(np.arange(samples), boxes)
    return [np.flatnonzero(~biased), np.flatnonzero(biased)]


def _on_faces(function: MarginFunction, lowest: Lowest) -> float:
    """The share of free inputs that lie on a face of the box."""
    lower, upper = function.lower[lowest.case], function.upper[lowest.case]
    free = upper > lower
    faces = (lowest.point == lower) | (lowest.point == upper)
    return float(faces[free].double().mean()) if bool(free.any()) else 1.0
