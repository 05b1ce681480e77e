"""10^5 sampled inputs a network: the values of every node lie within both kinds of bounds."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import specimens
import torch
from mixed_networks import MIXED, inside, random_boxes, tensor_values
from torch import Tensor

from assay.bounds.interval import enclosing_box, interval_bounds
from assay.bounds.linear import LinearNetwork
from assay.question import vnnlib
from assay.question.network import Network, load

POINTS = 100_000
_CHUNK = 5_000


def assert_all_nodes_hold(network: Network, lower: Tensor, upper: Tensor) -> None:
    """Values at sampled points, up to the rounding that the bounds of the point itself show."""
    engine = LinearNetwork(network)
    refined = engine.relaxed(engine.intervals.start(lower, upper)).values
    plain = interval_bounds(network, lower, upper)
    each = POINTS // len(lower)
    smallest: dict[str, int] = {}
    points = inside(lower, upper, each, seed=11)
    for chunk in points.split(_CHUNK // len(lower), dim=1):
        count, flat = chunk.shape[1], chunk.flatten(0, 1)
        at_points = interval_bounds(network, flat, flat)
        for name, values in tensor_values(network, flat).items():
            slack = at_points[name][1] - at_points[name][0] + 2.0**-46 * (1 + flat.abs().amax())
            for low, high in (plain[name], (refined[name].low, refined[name].high)):
                assert (values >= low.repeat_interleave(count, dim=0) - slack).all(), name
                assert (values <= high.repeat_interleave(count, dim=0) + slack).all(), name
            smallest[name] = smallest.get(name, 0) + len(values)
    assert all(count == POINTS for count in smallest.values())


@pytest.mark.parametrize("build", MIXED)
def test_networks_of_mixed_operators(build: Callable[[int], Network]) -> None:
    network = build(7)
    assert_all_nodes_hold(network, *random_boxes(network, 5, seed=7))


@pytest.mark.parametrize(
    "setting", ["radius-2x10", "radius-3x8", "box-gates", "corners-plain", "meap-unstable"]
)
def test_networks_of_the_families(setting: str) -> None:
    made = specimens.made(setting)[0]
    network = load(made.onnx, made.name)
    (case,) = vnnlib.read(made.vnnlib.decode(), made.name).cases
    lower, upper = enclosing_box(case.box)
    middle = (lower + upper) / 2
    narrow = middle + (lower - middle) / 8, middle + (upper - middle) / 8
    both = torch.cat([lower, narrow[0]]), torch.cat([upper, narrow[1]])
    assert_all_nodes_hold(network, *both)
