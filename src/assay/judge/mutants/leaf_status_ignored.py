"""Whatever the solver returns is taken for its optimum."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from scipy.optimize import linprog
from torch import Tensor

from assay.bounds.domains import Units
from assay.bounds.leaves import Programme, programmes
from assay.bounds.relaxed_network import RelaxedNetwork
from assay.judge.power.mutant import Mutant, Setting, Swap


def _gained(programme: Programme) -> float:
    """How far the value that is believed is above the least value on the box alone."""
    low, high = programme.box
    result = linprog(
        programme.goal,
        A_ub=programme.left,
        b_ub=programme.right,
        bounds=np.stack(programme.box, axis=1),
        method="highs-ipm",
        options={"maxiter": 2, "presolve": False},
    )
    point = (low + high) / 2 if result.x is None else np.clip(result.x, low, high)
    least = np.where(programme.goal > 0, low, high)
    return float(programme.goal @ (point - least))


def _solved(original: Any, _: Setting) -> Any:
    def solved(
        relaxed: RelaxedNetwork, units: Units, functional: Tensor, until: float = math.inf
    ) -> tuple[Tensor, Tensor]:
        bounds, points = original(relaxed, units, functional, until)
        with torch.no_grad():
            own = relaxed.lower(relaxed.on_outputs(functional))
            for (i, k), programme in programmes(relaxed, units, own):
                if programme.finite:
                    value = float(own.bound[i, k]) + _gained(programme)
                    bounds[i, k] = max(float(bounds[i, k]), value)
        return bounds, points

    return solved


MUTANT = Mutant(
    name="leaf-status-ignored",
    bug="external solver",
    story="The value of a linear programme is believed also when the solver stopped early.",
    swaps=(Swap("assay.bounds.branch", "solved", _solved),),
    operators=frozenset({"Relu", "LeakyRelu", "PRelu", "Abs"}),
)
