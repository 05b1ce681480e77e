"""Normal vectors become uniform points of every region, and stay so when they walk.

Laws are compared by Kolmogorov-Smirnov and chi-square tests with fixed seeds; each would fail with
probability ACCEPTED under another seed.
"""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest
import torch
from scipy import stats

from assay.analyse.latent import Latent
from assay.analyse.regions import Ball, BoxRegion, Norm
from assay.analyse.sampling import Sampler

ACCEPTED = 1e-4
COUNT = 20_000
CPU = torch.device("cpu")
NORMS = get_args(Norm)


def walked(latent: Latent, steps: int = 3) -> np.ndarray:
    """Points after a few steps of the walk, which leaves out what is not in the region."""
    draw = torch.Generator().manual_seed(5)

    def normals() -> torch.Tensor:
        return torch.randn(4 * COUNT, latent.size, generator=draw, dtype=torch.float64)

    here = normals()
    here = here[latent.points(here.clone())[1]][:COUNT]
    assert len(here) == COUNT
    for _ in range(steps):
        there = 0.8 * here + 0.6 * normals()[:COUNT]
        inside = latent.points(there)[1]
        here[inside] = there[inside]
    return latent.points(here)[0].numpy()


@pytest.mark.parametrize("valid", [None, (0.0, 1.0)])
@pytest.mark.parametrize("norm", NORMS)
def test_walks_keep_the_law_that_the_sampler_has(
    norm: Norm, valid: tuple[float, float] | None
) -> None:
    region = Ball(np.array([0.0, 0.3, 1.0]), 0.6, norm, valid)
    found = walked(Latent(region, CPU, True))
    expected = Sampler(region, 0, dtype=torch.float64).take(COUNT).numpy()
    for feature in (*np.eye(3), np.array([1, -2, 1]), np.array([1, 1, -1])):
        assert stats.ks_2samp(found @ feature, expected @ feature).pvalue > ACCEPTED
    far = np.linalg.norm(found - region.centre, ord=float(norm), axis=1)
    assert far.max() <= region.radius * (1 + 1e-12)
    if valid is None:
        assert stats.kstest((far / region.radius) ** 3, "uniform").pvalue > ACCEPTED


@pytest.mark.parametrize("norm", NORMS)
def test_walks_on_levels_visit_all_grid_points_alike(norm: Norm) -> None:
    region = Ball(np.array([0.0, 0.5]), 0.5, norm, (0, 1), 5)
    found = np.rint(walked(Latent(region, CPU, True)) * 4).astype(int)
    expected = np.rint(Sampler(region, 0).take(2000).numpy() * 4).astype(int)
    cells, counts = np.unique(found @ [5, 1], return_counts=True)
    assert set(cells) == set(expected @ [5, 1])
    assert stats.chisquare(counts).pvalue > ACCEPTED


def test_far_normals_stay_in_their_box() -> None:
    region = BoxRegion(np.array([-1.0]), np.array([2.0]))
    latent = Latent(region, CPU, True)
    ends, inside = latent.points(torch.tensor([[-50.0], [50.0], [0.0]], dtype=torch.float64))
    assert inside.all()
    assert ends.reshape(-1).tolist() == pytest.approx([-1, 2, 0.5])
    levels = Latent(Ball(np.array([0.5]), 0.5, "inf", (0, 1), 3), CPU, True)
    highest = torch.tensor([[50.0]], dtype=torch.float64)
    assert float(levels.points(highest)[0]) == 1


@pytest.mark.parametrize("far", [0.0, 40.0])
def test_cross_polytopes_have_no_holes(far: float) -> None:
    latent = Latent(Ball(np.zeros(3), 1, "1"), CPU, True)
    normals = torch.full((1, 4), 0.1, dtype=torch.float64)
    normals[0, 0] = far
    assert torch.isfinite(latent.points(normals)[0]).all()
