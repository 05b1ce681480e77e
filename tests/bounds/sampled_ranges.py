"""Every tensor of a network at many points of a box, against all bounds that there are of it."""

from __future__ import annotations

import math

import torch
from mixed_networks import inside, tensor_values
from torch import Tensor

from assay.bounds.interval import interval_bounds
from assay.bounds.linear import LinearNetwork
from assay.bounds.relaxed_network import RelaxedNetwork
from assay.question.network import Network

Ranges = dict[str, tuple[Tensor, Tensor]]
_CHUNK = 5_000
_PROBES = 20
"""Points of each box whose own bounds show how much float64 loses there."""


def backward_ranges(relaxed: RelaxedNetwork) -> Ranges:
    """Bounds of every unit of every tensor by backward substitution from there."""
    boxes = len(relaxed.empty)
    found: Ranges = {}
    for name, x in relaxed.values.items():
        shape = x.low.shape[1:]
        units = math.prod(shape)
        each = torch.eye(units, dtype=torch.float64)
        rows = torch.cat([each, -each]).reshape(1, 2 * units, *shape)
        bound = relaxed.lower({name: rows.expand(boxes, *rows.shape[1:])}).bound
        low, high = bound[:, :units], -bound[:, units:]
        found[name] = low.reshape(boxes, *shape), high.reshape(boxes, *shape)
    return found


def all_ranges(network: Network, lower: Tensor, upper: Tensor) -> dict[str, Ranges]:
    engine = LinearNetwork(network)
    box = engine.intervals.start(lower, upper)
    plain, refined = engine.relaxed(box, refine=False), engine.relaxed(box)
    return {
        "intervals": interval_bounds(network, lower, upper),
        "refined intervals": {name: (x.low, x.high) for name, x in refined.values.items()},
        "lines on intervals": backward_ranges(plain),
        "lines on refined intervals": backward_ranges(refined),
    }


def assert_samples_within(network: Network, lower: Tensor, upper: Tensor, count: int) -> None:
    """`count` points, spread over the boxes: what float64 makes of them lies within all bounds.

    Up to its rounding: twice the width of the bounds of single points, and what torch's formulas
    of smooth functions lose by cancellation.
    """
    boxes = len(lower)
    points = inside(lower, upper, -(-count // boxes), seed=11)
    least, most = _extremes(network, points)
    probes = points[:, :_PROBES].flatten(0, 1)
    at_probes = interval_bounds(network, probes, probes)
    reached = 1 + points.abs().amax()
    for kind, ranges in all_ranges(network, lower, upper).items():
        for name, value in least.items():
            low, high = ranges[name]
            ends = at_probes[name]
            width = (ends[1] - ends[0]).reshape(boxes, -1, *value.shape[1:]).amax(1)
            slack = 2 * width + 2.0**-46 * reached
            where = f"{kind} of {name} in {network.place}"
            assert all(torch.isfinite(t).all() for t in (low, high, slack)), where
            assert (value >= low - slack).all(), where
            assert (most[name] <= high + slack).all(), where


def _extremes(network: Network, points: Tensor) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """The least and the largest value of every number of every tensor, [B, *shape] each."""
    least: dict[str, Tensor] = {}
    most: dict[str, Tensor] = {}
    for chunk in points.split(_CHUNK // len(points), dim=1):
        for name, values in tensor_values(network, chunk.flatten(0, 1)).items():
            by_box = values.reshape(*chunk.shape[:2], *values.shape[1:])
            low, high = by_box.amin(1), by_box.amax(1)
            least[name] = torch.minimum(least.get(name, low), low)
            most[name] = torch.maximum(most.get(name, high), high)
    return least, most
