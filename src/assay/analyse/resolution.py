"""Can the model's numbers tell the points of a region apart?

Random inputs are drawn from the real region and rounded to the model's numbers. Where neighbouring
numbers are s apart and one input is uniform over a width w, rounding moves the probability that it
lies below any threshold by up to s / (2 w). With `FEWEST_STEPS` = w / s that is 2^-11 = 0.05 %, a
tenth of the usual indifference zone (0.5 %) of a decision; with fewer steps an answer would be
about the rounding. In l_1 and l_2 an input's law is narrower than the ball: there w is one over its
highest density. Levels need only be told apart. Where float32 is too coarse and the model takes
float64 it runs in that; otherwise it is refused.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from numpy.typing import NDArray

from assay.analyse.model import Model
from assay.analyse.regions import Ball, BoxRegion, Region
from assay.analyse.sampling import Sampler
from assay.errors import BadInput

FEWEST_STEPS = 2**10
_FEWEST_OF_A_LEVEL = 2
_PROBES = (32, 512, 8192)
_SMOOTH = 8
"""Different scores of as many points: more than a model has that gives only classes."""
_REMEDY = "give a larger radius or box, or move the inputs closer to 0"
_NAMES = {torch.float16: "float16", torch.float32: "float32", torch.float64: "float64"}
_NUMBERS = {torch.float16: np.float16, torch.float32: np.float32, torch.float64: np.float64}


def precise_enough(model: Model, region: Region) -> Model:
    """The model, in float64 if it must be; BadInput where its numbers do not suffice."""
    if region.dimension != model.inputs:
        return model  # which says so when it is asked
    _refuse_overflow(model, region)
    reason = _too_coarse(model, region)
    if reason is None:
        return model
    if model.dtype == torch.float64:
        raise BadInput(f"{model.name}: {reason}; {_REMEDY}")
    wide = model.widened()
    if wide is None:
        raise BadInput(f"{model.name}: {reason}, and it does not run in float64; {_REMEDY}")
    still = _too_coarse(wide, region)
    if still is not None:
        raise BadInput(f"{model.name}: {still}; {_REMEDY}")
    blind = _blind(wide, region)
    if blind:
        raise BadInput(f"{model.name}: {reason}, and {blind}; {_REMEDY}")
    return wide


def _refuse_overflow(model: Model, region: Region) -> None:
    box = region.box if isinstance(region, Ball) else region
    factor, shift = _preprocessing(model, box)
    given = [box.lower * factor + shift, box.upper * factor + shift]
    limits = [([box.lower, box.upper, *given], model.dtype, torch.finfo(model.dtype).max / 4)]
    if model.rounded_to is not None:
        limits.append((given, model.rounded_to, torch.finfo(model.rounded_to).max))
    for ends, dtype, limit in limits:
        most = float(max(abs(end).max() for end in ends))
        if most > limit:
            raise BadInput(
                f"{model.name}: inputs as large as {most:g} overflow {_NAMES[dtype]}; give a "
                "smaller radius or box"
            )


def refuse_coarse_box(name: str, box: BoxRegion) -> None:
    """BadInput where float64 does not suffice to draw points of a box."""
    reason = _words(box, box, _apart(np.maximum(abs(box.lower), abs(box.upper)), torch.float64))
    if reason is not None:
        raise BadInput(f"{name}: {reason.format('float64')}; {_REMEDY}")


def _too_coarse(model: Model, region: Region) -> str | None:
    """Which input has too few numbers, in words; None if none has."""
    box = region.box if isinstance(region, Ball) else region
    found = _words(region, box, _spacing(model, box))
    return None if found is None else found.format(_NAMES[model.input_dtype])


def _words(region: Region, box: BoxRegion, spacing: NDArray[np.float64]) -> str | None:
    wanted = FEWEST_STEPS
    widths = _widths(region, box)
    if isinstance(region, Ball) and region.levels is not None:
        wanted, widths = _FEWEST_OF_A_LEVEL, np.full(region.dimension, region.step)
    # an input that does not vary has nothing to be told apart
    steps = np.where(box.upper > box.lower, widths / spacing, np.inf)
    worst = int(steps.argmin())
    if steps[worst] >= wanted:
        return None
    what = "has levels" if wanted == _FEWEST_OF_A_LEVEL else "spreads over"
    middle = (box.lower[worst] + box.upper[worst]) / 2
    return (
        f"input {worst} {what} {widths[worst]:.3g} around {middle:.6g}, where the numbers of {{}} "
        f"are {spacing[worst]:.3g} apart: too coarse to tell its random values apart ({wanted:,} "
        "steps are needed)"
    )


def _widths(region: Region, box: BoxRegion) -> NDArray[np.float64]:
    """One over the highest density of each input."""
    width = box.upper - box.lower
    if isinstance(region, Ball) and region.norm != "inf":
        inputs, radius = region.dimension, region.radius
        own = 2 * radius / inputs
        if region.norm == "2":
            own = radius * math.sqrt(2 * math.pi / (inputs + 2))
        width = np.minimum(width, own)
    return np.asarray(width)


def _spacing(model: Model, box: BoxRegion) -> NDArray[np.float64]:
    """Of the numbers at each input, before preprocessing and as the model gets them, in the input's
    unit."""
    factor, shift = _preprocessing(model, box)
    ends = [abs(end * factor + shift) for end in (box.lower, box.upper)]
    plain = _apart(np.maximum(abs(box.lower), abs(box.upper)), model.dtype)
    return np.maximum(plain, _apart(np.maximum(*ends), model.input_dtype) / abs(factor))


def _apart(size: NDArray[np.float64], dtype: torch.dtype) -> NDArray[np.float64]:
    return np.asarray(np.spacing(size.astype(_NUMBERS[dtype])), np.float64)


def _preprocessing(model: Model, box: BoxRegion) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    factor, shift = model.preprocessing.linear(model.shape, model.name)
    return np.broadcast_to(factor, box.lower.shape), np.broadcast_to(shift, box.lower.shape)


def _blind(wide: Model, region: Region) -> str:
    """Why a model that should run in float64 does not really, if so.

    Scores that vary smoothly change with the digits that float32 has not; those of a model that
    gives nothing but a class do so only where a boundary is crossed, which takes more points.
    """
    sampler = Sampler(region, 0, purpose="resolution", device=wide.device, dtype=wide.dtype)
    for count in _PROBES:
        points = sampler.take(count)
        try:
            exact, rounded = wide.scores(points), wide.scores(points.float().double())
        except BadInput as error:
            return f"it does not run in float64 ({error})"
        if not torch.equal(exact, rounded):
            return ""
        if len(torch.unique(exact, dim=0)) >= _SMOOTH:
            break
    return "its scores in float64 are those of inputs rounded to float32"
