"""What the solver has when it stops is taken for its optimum."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog

from assay.bounds.leaves import Programme
from assay.judge.power.mutant import Mutant, Setting
from assay.judge.power.seams import at_leaves


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


def _incumbent(programme: Programme, bound: float, setting: Setting) -> float:
    return bound + _gained(programme, setting.strength)


MUTANT = Mutant(
    name="leaf-incumbent-is-optimum",
    bug="external solver",
    story="The solver stops within a gap of the strength, and its incumbent counts as the optimum.",
    swaps=(at_leaves(_incumbent),),
    strength=0.05,
    operators=frozenset({"Relu", "LeakyRelu", "PRelu", "Abs"}),
)
