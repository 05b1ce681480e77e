"""Presolve drops small coefficients."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from assay.judge.power.mutant import Mutant
from assay.judge.power.seams import misread
from assay.question.network import Network

_TINY = 0.02


def _sparser(network: Network) -> Network:
    def kept(array: np.ndarray) -> np.ndarray:
        if array.dtype != np.float32 or array.ndim < 2:
            return array
        size = np.abs(array)
        return np.where(size < _TINY * size.max(initial=0), np.float32(0), array)

    return replace(
        network, initializers={name: kept(array) for name, array in network.initializers.items()}
    )


MUTANT = Mutant(
    name="tiny-weights-dropped",
    bug="almost fixed",
    story=f"Weights below {_TINY:g} times the largest of their layer count as zero.",
    swaps=(misread(_sparser),),
)
