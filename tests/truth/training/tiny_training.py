"""Trainings of a second, and what tests compare of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch

from assay.truth.training.settings import Schedule, Setting
from assay.truth.training.standing import Standing
from assay.truth.training.trainer import Trainer

CPU = torch.device("cpu")
TINY = Schedule(
    "tiny_mlp",
    classes=3,
    examples=2,
    epochs=24,
    restarts=3,
    steps=3,
    look_every=6,
    look_restarts=3,
    look_steps=3,
)


def tiny(**changes: object) -> Schedule:
    return replace(TINY, **changes)  # type: ignore[arg-type]


def trainer(*settings: Setting, **changes: object) -> Trainer:
    return Trainer(tiny(**changes), settings, CPU)


def state(one: Trainer) -> dict[str, np.ndarray]:
    return {name: value.detach().numpy().copy() for name, value in one.state().items()}


def apart(left: Sequence[Standing], right: Sequence[Standing]) -> float:
    """How far the weights of two trainings are from each other at most."""
    distances = []
    for one, other in zip(left, right, strict=True):
        assert one.weights is not None
        assert other.weights is not None
        assert one.weights.keys() == other.weights.keys()
        distances += [np.abs(one.weights[k] - other.weights[k]).max() for k in one.weights]
    return float(max(distances))
