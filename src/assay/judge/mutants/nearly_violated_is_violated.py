"""A counterexample that only almost violates."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from assay.bounds.counterexample import Falsifier, Witness, _exact_points
from assay.judge.power.mutant import Mutant, Setting, Swap


def _witness(_original: Any, setting: Setting) -> Any:
    def witness(falsifier: Falsifier, points: Tensor) -> Witness | None:
        with torch.no_grad():
            outputs = falsifier.view(points)
            margins = falsifier.excesses.at(outputs).amax(2).amin(1)
        excess = margins - setting.strength * falsifier._scale(outputs)
        best = int(excess.argmin())
        if float(excess[best]) > 0:
            return None
        return _exact_points(points[best], falsifier.case.box)[0]

    return witness


MUTANT = Mutant(
    name="nearly-violated-is-violated",
    bug="tolerance",
    story="An input counts as a counterexample when it misses the violation by less than the "
    "strength times the outputs.",
    swaps=(Swap("assay.bounds.counterexample:Falsifier", "witness", _witness),),
    wrongly="violated",
    strength=0.01,
)
