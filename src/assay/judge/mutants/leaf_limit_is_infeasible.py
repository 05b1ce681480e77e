"""The solver's iteration limit is read as 'infeasible'."""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import linprog

from assay.bounds.leaves import Programme
from assay.judge.power.mutant import Mutant, Setting
from assay.judge.power.seams import at_leaves

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


def _infeasible(programme: Programme, _bound: float, _setting: Setting) -> float:
    return math.inf if _is_stopped(programme) else -math.inf


MUTANT = Mutant(
    name="leaf-limit-is-infeasible",
    bug="external solver",
    story="A linear programme that stops at the solver's iteration limit counts as infeasible.",
    swaps=(at_leaves(_infeasible),),
    operators=frozenset({"Relu", "LeakyRelu", "PRelu", "Abs"}),
)
