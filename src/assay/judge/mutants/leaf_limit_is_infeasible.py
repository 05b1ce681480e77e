"""The solver's iteration limit is read as 'infeasible'."""

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

_ITERATIONS = 1


def _is_stopped(programme: Programme) -> bool:
    result = linprog(
        programme.goal,
        A_ub=programme.left,
        b_ub=programme.right,
        bounds=np.stack(programme.box, axis=1),
        method="highs-ds",
        options={"maxiter": _ITERATIONS, "presolve": False},
    )
    return bool(result.status != 0)


def _solved(original: Any, _: Setting) -> Any:
    def solved(
        relaxed: RelaxedNetwork, units: Units, functional: Tensor, until: float = math.inf
    ) -> tuple[Tensor, Tensor]:
        bounds, points = original(relaxed, units, functional, until)
        with torch.no_grad():
            own = relaxed.lower(relaxed.on_outputs(functional))
            for (i, k), programme in programmes(relaxed, units, own):
                if programme.finite and _is_stopped(programme):
                    bounds[i, k] = math.inf
        return bounds, points

    return solved


MUTANT = Mutant(
    name="leaf-limit-is-infeasible",
    bug="external solver",
    story="A linear programme that stops at the solver's iteration limit counts as infeasible.",
    swaps=(Swap("assay.bounds.branch", "solved", _solved),),
    operators=frozenset({"Relu", "LeakyRelu", "PRelu", "Abs"}),
)
