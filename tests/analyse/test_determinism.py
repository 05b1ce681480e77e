"""Models that say something else the second time, or in another batch, are called so."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from assay.analyse.asked import Asked, around
from assay.analyse.determinism import determinism_of
from assay.analyse.model import Model, callable_model, module_model

POINT = np.array([1.0, 0.2])


def asked(model: Model) -> Asked:
    return around(model, POINT, (0,), 0.1, "inf")


def test_a_plain_model_is_deterministic_and_nothing_is_said() -> None:
    found = asked(module_model(torch.nn.Linear(2, 3), (2,)).steady())
    assert found.description["deterministic"] is True
    assert not list(found.warnings)


def test_noise_is_said_with_its_size() -> None:
    draw = np.random.default_rng(0)
    found = asked(callable_model(lambda x: x + draw.normal(0, 1e-3, x.shape), (2,)))
    assert found.description["deterministic"] is False
    (warning,) = found.warnings
    assert "not deterministic" in warning
    assert "the seed does not fix the result" in warning
    seen = determinism_of(found)
    assert 1e-5 < seen.repeat_difference < 1e-2
    assert not seen.outcomes_changed


def test_noise_that_changes_outcomes_is_said() -> None:
    draw = np.random.default_rng(0)
    found = asked(callable_model(lambda x: draw.normal(size=(len(x), 2)), (2,)))
    assert "an input that passed in one call failed in another" in next(found.warnings)
    assert found.description["determinism"]["outcomes_changed"]  # type: ignore[index]


class Whitened(torch.nn.Module):
    """Batch normalisation left in training mode."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x - x.mean(0)) / (x.std(0, unbiased=False) + 1e-3)


def test_scores_that_depend_on_the_batch_are_said() -> None:
    found = asked(module_model(Whitened(), (2,)))
    assert found.description["deterministic"] is True
    (warning,) = found.warnings
    assert "depend on which inputs are in the batch" in warning
    assert "no error bound holds" in warning


def test_a_place_in_the_batch_may_matter() -> None:
    found = asked(callable_model(lambda x: x * np.linspace(1, 2, len(x))[:, None], (2,)))
    assert determinism_of(found).batch_matters


@pytest.mark.parametrize("size", [1e-7, -1e-7])
def test_rounding_that_depends_on_the_batch_is_no_warning(size: float) -> None:
    found = asked(callable_model(lambda x: x + size * len(x), (2,)))
    seen = determinism_of(found)
    assert 0 < seen.batch_difference < 1e-6
    assert not list(found.warnings)


def test_a_model_is_looked_at_once() -> None:
    calls: list[int] = []

    def count(x: np.ndarray) -> np.ndarray:
        calls.append(len(x))
        return x

    model = callable_model(count, (2,))
    asked(model)
    before = len(calls)
    assert sum(calls) < 20
    asked(model)
    assert len(calls) == before + 1, "the label at the input, and no more"


def test_infinite_scores_that_stay_are_no_difference() -> None:
    found = asked(callable_model(lambda x: np.stack([x[:, 0], np.full(len(x), -np.inf)], 1), (2,)))
    assert determinism_of(found).repeat_difference == 0
