"""What enters a step at a point, in float64: a guide for cuts, never a proof."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import torch

from assay.question.network import load
from assay.question.torch_view import torch_view
from assay.shrink.steps import Steps
from assay.shrink.surgery import Values


def entering(steps: Steps, place: int, point: Sequence[Fraction]) -> Values:
    """The flat values that enter the step at `place`, which is not the first."""
    begun = replace(steps, items=steps.items[:place])
    view = torch_view(load(begun.onnx(), "the first steps"), torch.float64)
    with torch.no_grad():
        found = view(torch.tensor([[float(v) for v in point]], dtype=torch.float64))
    return np.asarray(found.flatten().numpy())
