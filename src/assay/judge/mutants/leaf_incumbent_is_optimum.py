"""What the solver has when it stops is taken for its optimum."""

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


def _gained(programme: Programme, gap: float) -> float:
    """How far an incumbent within the gap is above the least value on the box alone."""
    ends = []
    for sign in (1, -1):
        result = linprog(
            sign * programme.goal,
            A_ub=programme.left,
            b_ub=programme.right,
            bounds=np.stack(programme.box, axis=1),
            method="highs",
        )
        if result.status != 0:
            return 0.0
        ends.append(float(programme.goal @ result.x))
    low, high = programme.box
    least = float(programme.goal @ np.where(programme.goal > 0, low, high))
    return ends[0] + gap * (ends[1] - ends[0]) - least


def _solved(original: Any, setting: Setting) -> Any:
    def solved(
        relaxed: RelaxedNetwork, units: Units, functional: Tensor, until: float = math.inf
    ) -> tuple[Tensor, Tensor]:
        bounds, points = original(relaxed, units, functional, until)
        with torch.no_grad():
            own = relaxed.lower(relaxed.on_outputs(functional))
            for (i, k), programme in programmes(relaxed, units, own):
                if programme.finite:
                    believed = float(own.bound[i, k]) + _gained(programme, setting.strength)
                    bounds[i, k] = max(float(bounds[i, k]), believed)
        return bounds, points

    return solved


MUTANT = Mutant(
    name="leaf-incumbent-is-optimum",
    bug="external solver",
    story="The solver stops within a gap of the strength, and its incumbent counts as the optimum.",
    swaps=(Swap("assay.bounds.branch", "solved", _solved),),
    strength=0.05,
    operators=frozenset({"Relu", "LeakyRelu", "PRelu", "Abs"}),
)
