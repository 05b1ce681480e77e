"""The passes, in the order in which a round goes through them: what saves most comes first."""

from __future__ import annotations

from assay.shrink.passes.bounds import ONE_BIT_BOUNDS, SHORT_BOUNDS
from assay.shrink.passes.disjuncts import DISJUNCTS, INEQUALITIES
from assay.shrink.passes.image import IMAGE
from assay.shrink.passes.inputs import FIX_INPUTS, FOLD_INPUTS
from assay.shrink.passes.layers import JOIN, SKIP, STRAIGHTEN
from assay.shrink.passes.narrow import NARROW
from assay.shrink.passes.outputs import OUTPUTS
from assay.shrink.passes.units import DROP_UNITS, FREEZE_UNITS
from assay.shrink.passes.weights import POWER_WEIGHTS, SHORT_WEIGHTS, UNIT_WEIGHTS, ZERO_WEIGHTS
from assay.shrink.reduction import Reduction

PASSES: tuple[Reduction, ...] = (
    DISJUNCTS,
    INEQUALITIES,
    OUTPUTS,
    FIX_INPUTS,
    FOLD_INPUTS,
    IMAGE,
    FREEZE_UNITS,
    DROP_UNITS,
    STRAIGHTEN,
    JOIN,
    SKIP,
    NARROW,
    ZERO_WEIGHTS,
    UNIT_WEIGHTS,
    POWER_WEIGHTS,
    SHORT_WEIGHTS,
    ONE_BIT_BOUNDS,
    SHORT_BOUNDS,
)
