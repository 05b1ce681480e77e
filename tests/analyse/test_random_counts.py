"""Counts of the benchmark's random networks: as close as promised, and where samples lie."""

from __future__ import annotations

import pytest
from count_gaps import SEEDS, measure

from assay.analyse.count.settings import Settings


@pytest.mark.slow
@pytest.mark.parametrize(("inputs", "gap"), [(2, 1e-5), (5, 0.15)])
def test_samples_lie_between_the_bounds_for_all_stated_seeds(inputs: int, gap: float) -> None:
    for seed in SEEDS:
        found = measure(inputs, seed, Settings(gap=gap, seconds=120), samples=200_000)
        assert found.counted.gap <= gap
        assert found.agrees, seed
