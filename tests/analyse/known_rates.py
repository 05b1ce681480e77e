"""Models whose failure rates are known exactly."""

from __future__ import annotations

import numpy as np

from assay.analyse.asked import Asked, around
from assay.analyse.model import Model, callable_model


def failing_above(threshold: float) -> Model:
    """Label 0 up to a threshold of the first input, label 1 above it."""

    def scores(points: np.ndarray) -> np.ndarray:
        return np.stack([np.full(len(points), threshold), points[:, 0]], axis=1)

    return callable_model(scores, (2,), name="threshold")


def failing_in_a_shell(low: float, high: float) -> Model:
    """Label 0, and label 1 where the size of the one input lies in the shell."""

    def scores(points: np.ndarray) -> np.ndarray:
        size = np.abs(points[:, 0])
        inside = (size >= low) & (size <= high)
        return np.stack([np.zeros(len(points)), np.where(inside, 1.0, -1.0)], axis=1)

    return callable_model(scores, (1,), name="shell")


def asked_with_rate(rate: float) -> Asked:
    """Uniform in [-1, 1]^2, failing with this rate."""
    return around(failing_above(1 - 2 * rate), np.zeros(2), (0,), 1.0, "inf")
