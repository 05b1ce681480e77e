"""Plain sampling beside the studies: failures counted where their rate is known."""

from __future__ import annotations

import numpy as np
import pytest
from studies.spot_checks import failures

from assay.analyse.model import callable_model
from assay.analyse.regions import Ball

MODEL = callable_model(
    lambda x: np.stack([0 * x[:, 0], x[:, 0], x[:, 0] - 0.5], 1), (4,), name="half"
)
"""Class 1 where the first coordinate is positive, else class 0; never class 2."""


@pytest.mark.parametrize(("labels", "rate"), [([0], 0.5), ([0, 1], 0.0), ([2], 1.0)])
def test_failures_are_inputs_outside_of_the_label_set(labels: list[int], rate: float) -> None:
    """4,500 samples take three batches; five standard deviations are allowed."""
    ball = Ball(np.zeros(4), 1.0, "inf")
    count = failures(MODEL, ball, labels, 4_500, seed=0)
    assert count == pytest.approx(4_500 * rate, abs=5 * (4_500 * rate * (1 - rate)) ** 0.5)
    assert count == failures(MODEL, ball, labels, 4_500, seed=0)
