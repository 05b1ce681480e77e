"""Exact counting: do the proven bounds contain the truth, and how close do they come?

An error is a pair of bounds that leaves out the true rate; there must be none. Questions of a few
inputs are counted to a gap of 1e-6, and of a thousandth of the rate, so that bounds which are
slightly off leave it out. A count of more inputs ends at a tenth of the rate or with many undecided
cells, so that its result does not depend on the clock.
"""

from __future__ import annotations

from assay.analyse.calibration.analyser import Analyser
from assay.analyse.calibration.known import Effort, KnownQuestion
from assay.analyse.calibration.measured import Measured
from assay.analyse.count import counting
from assay.analyse.count.settings import Settings
from assay.errors import Unsupported

NAME = "count"
FEW_INPUTS, FINE_GAP, FINE_RELATIVE_GAP, FINE_CELLS = 3, 1e-6, 1e-3, 400_000
RELATIVE_GAP = 0.1
MOST_CELLS = 20_000
MOST_INPUTS = 8
"""In more dimensions halving narrows next to nothing, and takes long."""
_LONGEST_S = 300.0
_FINE = f"up to {FEW_INPUTS} inputs: gap {FINE_GAP:g}, or p/1,000"
_COARSE = f"gap p/10 or {MOST_CELLS:,} cells"


def measure(question: KnownQuestion, effort: Effort) -> tuple[Measured, ...]:  # noqa: ARG001
    """One count: nothing in it is random."""
    if question.dimension > MOST_INPUTS:
        words = f"halving boxes of {question.dimension} inputs narrows next to nothing"
        return (_row(question, left_out=words),)
    few = question.dimension <= FEW_INPUTS
    gap = min(FINE_GAP, question.rate * FINE_RELATIVE_GAP) if few else question.rate * RELATIVE_GAP
    settings = Settings(gap, _LONGEST_S, FINE_CELLS if few else MOST_CELLS)
    try:
        found = counting.count(question.network, question.case, settings)
    except Unsupported as error:
        return (_row(question, left_out=str(error)),)
    missed = found.upper < question.lower or found.lower > question.upper
    return (
        _row(
            question,
            runs=1,
            errors=int(missed),
            figures={
                "lower / p": float(found.lower) / question.rate,
                "upper / p": float(found.upper) / question.rate,
                "gap / p": float(found.gap) / question.rate,
                "boxes": float(found.boxes),
            },
        ),
    )


def _row(
    question: KnownQuestion,
    runs: int = 0,
    errors: int = 0,
    figures: dict[str, float | None] | None = None,
    left_out: str = "",
) -> Measured:
    return Measured(
        NAME,
        question.name,
        "bounds miss p",
        _FINE if question.dimension <= FEW_INPUTS else _COARSE,
        promised=0.0,
        holds=True,
        runs=runs,
        errors=errors,
        figures=figures or {},
        left_out=left_out,
    )


ANALYSERS = (
    Analyser(NAME, "bounds", "the rate lies between the two bounds: a proof", True, measure),
)
