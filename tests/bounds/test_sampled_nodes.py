"""10^5 sampled inputs a network: the values of every node lie within both kinds of bounds."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import specimens
import torch
from mixed_networks import MIXED, random_boxes
from sampled_ranges import assert_samples_within
from tier import sized

from assay.bounds.interval import enclosing_box
from assay.question import vnnlib
from assay.question.network import Network, load

POINTS = sized(20_000, 100_000)


@pytest.mark.parametrize("build", MIXED)
def test_networks_of_mixed_operators(build: Callable[[int], Network]) -> None:
    network = build(7)
    assert_samples_within(network, *random_boxes(network, 5, seed=7), POINTS)


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
    assert_samples_within(network, *both, POINTS)
