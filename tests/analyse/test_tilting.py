"""Tilted proposals give the very law that rejection gives, also where that keeps nothing."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import stats

from assay.analyse import sampling
from assay.analyse.regions import Ball, Norm
from assay.analyse.sampling import Sampler

LEVEL = 1e-4
"""Each law is rejected by chance with this probability; seeds are fixed."""


def drawn(ball: Ball, often: float, monkeypatch: pytest.MonkeyPatch) -> np.ndarray:
    monkeypatch.setattr(sampling, "_OFTEN", often)
    return np.asarray(Sampler(ball, 0, dtype=torch.float64).take(20_000).numpy())


@pytest.mark.parametrize("norm", ["1", "2"])
@pytest.mark.parametrize("centre", [(0.05, 0.9, 0.5), (0.0, 1.0, 0.02, 0.97), (0.0, 0.5)])
@pytest.mark.parametrize("radius", [0.3, 0.8, 5.0])
def test_it_is_the_law_of_rejection(
    norm: Norm, centre: tuple[float, ...], radius: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    ball = Ball(np.array(centre), radius, norm, (0, 1))
    plain = drawn(ball, 0.0, monkeypatch)
    tilted = drawn(ball, 2.0, monkeypatch)
    assert ((tilted >= 0) & (tilted <= 1)).all()
    assert (np.linalg.norm(tilted - centre, ord=int(norm), axis=1) <= radius * (1 + 1e-12)).all()
    weights = np.arange(1, len(centre) + 1)
    for seen in (*np.eye(len(centre)), weights, weights % 2 - 0.5):
        assert stats.ks_2samp(plain @ seen, tilted @ seen).pvalue > LEVEL
    far = [np.linalg.norm(x - centre, ord=int(norm), axis=1) for x in (plain, tilted)]
    assert stats.ks_2samp(*far).pvalue > LEVEL


@pytest.mark.parametrize(("norm", "radius"), [("1", 40.0), ("2", 3.0)])
def test_pictures_have_points_although_rejection_finds_none(norm: Norm, radius: float) -> None:
    """At a corner of the range the share within t of the radius is t^d, as in a whole ball."""
    inputs = 400
    centre = np.where(np.arange(inputs) % 2, 0.0, 1.0)
    centre[:100] = 0.01
    ball = Ball(centre, radius, norm, (0, 1))
    points = Sampler(ball, 1, dtype=torch.float64).take(600).numpy()
    assert ((points >= 0) & (points <= 1)).all()
    far = np.linalg.norm(points - centre, ord=int(norm), axis=1) / radius
    assert far.max() <= 1 + 1e-12
    # inputs near an end are bounded, so most of the mass is at the radius, as in many dimensions
    assert np.median(far) > 0.99


@pytest.mark.parametrize("norm", ["1", "2"])
def test_in_a_corner_the_distance_has_the_law_of_the_whole_ball(
    norm: Norm, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sampling, "_OFTEN", 2.0)
    centre = np.zeros(30)
    ball = Ball(centre, 0.2, norm, (0, 1))
    points = Sampler(ball, 2, dtype=torch.float64).take(4000).numpy()
    share = (np.linalg.norm(points, ord=int(norm), axis=1) / 0.2) ** 30
    assert stats.kstest(share, "uniform").pvalue > LEVEL


def test_points_do_not_depend_on_how_they_are_taken() -> None:
    centre = np.full(300, 0.001)
    ball = Ball(centre, 2.0, "2", (0, 1))
    whole = Sampler(ball, 3).take(300)
    parts = Sampler(ball, 3)
    assert torch.equal(whole, torch.cat([parts.take(n) for n in (1, 99, 150, 50)]))
