"""Counts of the benchmark's random networks: as close as promised, and where samples lie."""

from __future__ import annotations

import pytest
from count_gaps import SEEDS, measure
from tier import sized

from assay.analyse.count.settings import Settings


@pytest.mark.slow
@pytest.mark.parametrize(
    ("weights", "inputs", "gap"),
    sized(
        [("torch", 2, 1e-5), ("he", 2, 1e-4)],
        [("torch", 2, 1e-5), ("torch", 5, 0.15), ("he", 2, 1e-4), ("he", 5, 0.3)],
    ),
)
def test_samples_lie_between_the_bounds_for_all_stated_seeds(
    weights: str, inputs: int, gap: float
) -> None:
    for seed in SEEDS:
        settings = Settings(gap=gap, seconds=120)
        found = measure(inputs, seed, settings, weights=weights, samples=200_000)
        assert found.counted.gap <= gap
        assert found.agrees, seed


def test_a_network_of_five_inputs_with_he_weights() -> None:
    settings = Settings(gap=0.1, seconds=120)
    found = measure(5, 0, settings, weights="he", samples=100_000)
    assert found.counted.gap <= 0.1
    assert found.agrees
