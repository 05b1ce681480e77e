"""The search for counterexamples leaves the box by a tolerance."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import torch
from torch import Tensor

from assay.bounds.counterexample import Falsifier, Witness
from assay.judge.power.mutant import Mutant, Setting, Swap
from assay.question.region import Box


def _enclosing(original: Any, setting: Setting) -> Any:
    def widened(box: Box, device: torch.device | None = None) -> tuple[Tensor, Tensor]:
        low, high = original(box, device)
        more = setting.strength * 0.5 * (high - low)
        return low - more, high + more

    return widened


def _witness(_original: Any, _: Setting) -> Any:
    def witness(falsifier: Falsifier, points: Tensor) -> Witness | None:
        with torch.no_grad():
            margins = falsifier.excesses.at(falsifier.view(points)).amax(2).amin(1)
        best = int(margins.argmin())
        if float(margins[best]) >= 0:
            return None
        return tuple(Fraction(value) for value in points[best].tolist())

    return witness


MUTANT = Mutant(
    name="witness-outside-the-box",
    bug="tolerance",
    story="Counterexamples may lie outside of the box by the strength times half of its width.",
    swaps=(
        Swap("assay.bounds.counterexample", "enclosing_box", _enclosing),
        Swap("assay.bounds.counterexample:Falsifier", "witness", _witness),
    ),
    wrongly="violated",
    strength=0.01,
)
