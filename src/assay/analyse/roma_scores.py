"""The number that RoMA fits: one score a random input, which is kept below a threshold.

* `margin`: the highest incorrect score minus the highest correct one, threshold 0: below it is
  exactly 'kept', for any number of classes, label sets and VNN-LIB properties.
* `confidence`: the highest *incorrect* probability, threshold .5, as in the paper. (The paper's
  'second highest' is at most .5 whatever happens.) From .5 on the label is lost; below .5 it is
  kept for sure with two classes only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, cast, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from assay.analyse.asked import Asked
from assay.analyse.kept import LabelSet
from assay.analyse.trials import Trials
from assay.errors import BadInput

Score = Literal["margin", "confidence"]
SCORES = get_args(Score)
_AT_ONCE = 4096
"""Rows whose scores are held; the first so many show whether outputs are probabilities."""
_OF_ONE = 1e-3
"""How far float32 (or float16) probabilities may be from adding up to 1."""


@dataclass(frozen=True, eq=False)
class Scored:
    """Scores [n] of random inputs, and how many of these failed; `softmax` if it was applied."""

    scores: NDArray[np.float64]
    threshold: float
    floor: float | None
    failures: int
    softmax: bool

    @property
    def reached(self) -> int:
        """How many scores are not below the threshold."""
        return int((self.scores >= self.threshold).sum())


def score_named(name: str) -> Score:
    if name not in SCORES:
        raise BadInput(f"--score {name} is unknown; give {' or '.join(SCORES)}")
    return cast(Score, name)


def scored(asked: Asked, score: Score, samples: int, seed: int, purpose: str) -> Scored:
    """The scores of the first random inputs of a stream."""
    trials = Trials(asked, seed, purpose)
    return _by_margin(trials, samples) if score == "margin" else _by_confidence(trials, samples)


def _by_margin(trials: Trials, samples: int) -> Scored:
    parts = [-trials.asked.margins_of(rows).double() for rows in _rows(trials, samples)]
    scores = torch.cat(parts).cpu().numpy()
    return Scored(scores, 0.0, None, int((scores >= 0).sum()), False)


def _by_confidence(trials: Trials, samples: int) -> Scored:
    kept = trials.asked.kept
    if not isinstance(kept, LabelSet):
        raise BadInput(
            "--score confidence needs labels, and a VNN-LIB file states a property of outputs; "
            "give --score margin"
        )
    parts: list[Tensor] = []
    failures, softmax = 0, False
    for rows in _rows(trials, samples):
        failures += int((trials.asked.margins_of(rows) <= 0).sum())
        wide = rows.double()
        if not parts:
            softmax = not _are_probabilities(wide)
        chances = torch.softmax(wide, 1) if softmax else wide
        parts.append(_highest_incorrect(chances, kept.labels))
    scores = torch.cat(parts).cpu().numpy()
    if np.isnan(scores).any():
        raise BadInput(
            f"{trials.asked.model.name}: infinite scores have no softmax; give --score margin"
        )
    return Scored(scores, 0.5, 0.0, failures, softmax)


def _rows(trials: Trials, samples: int) -> Iterator[Tensor]:
    for start in range(0, samples, _AT_ONCE):
        yield trials.scores(min(_AT_ONCE, samples - start))


def _are_probabilities(outputs: Tensor) -> bool:
    within = bool(((outputs >= 0) & (outputs <= 1)).all())
    return within and bool(((outputs.sum(1) - 1).abs() <= _OF_ONE).all())


def _highest_incorrect(chances: Tensor, labels: tuple[int, ...]) -> Tensor:
    outside = torch.ones(chances.shape[1], dtype=torch.bool, device=chances.device)
    outside[list(labels)] = False
    return chances[:, outside].amax(1)
