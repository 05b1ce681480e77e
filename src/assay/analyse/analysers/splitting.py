"""Multilevel splitting: does the estimate, with its standard error, reach the truth?

Nothing is promised. An error is an estimate whose two standard errors on either side leave out the
true rate, or which found no failure at all.
"""

from __future__ import annotations

import numpy as np

from assay.analyse.calibration.analyser import Analyser
from assay.analyse.calibration.known import Effort, KnownQuestion
from assay.analyse.calibration.measured import Measured
from assay.analyse.splitting import Splitting, SplittingSettings, split

NAME = "splitting"
PARTICLES, REPEATS, STEPS = 300, 5, 10
MOST_RUNS = 20
SMALLEST = 1e-12
_LEVELS = 40
"""Halvings until it gives up: what a run may cost."""


def measure(question: KnownQuestion, effort: Effort) -> tuple[Measured, ...]:
    runs = max(1, min(MOST_RUNS, effort.repeats_of(PARTICLES * REPEATS * STEPS * _LEVELS)))
    found = [_one(question, effort.seed + run) for run in range(runs)]
    ratios = np.array([one.estimate for one in found]) / question.rate
    errors = [one.relative_error for one in found if one.relative_error is not None]
    queries = [one.queries for one in found]
    return (
        Measured(
            NAME,
            question.name,
            "p outside ± 2 s.e.",
            f"{REPEATS} x {PARTICLES} particles",
            promised=None,
            holds=False,
            runs=runs,
            errors=sum(_missed(question, one) for one in found),
            samples=float(np.mean(queries)),
            most_samples=max(queries),
            figures={
                "found failures": float(np.mean([one.found for one in found])),
                "median estimate / p": float(np.median(ratios)),
                "least estimate / p": float(ratios.min()),
                "largest estimate / p": float(ratios.max()),
                "median relative s.e.": float(np.median(errors)) if errors else None,
            },
        ),
    )


def _one(question: KnownQuestion, seed: int) -> Splitting:
    settings = SplittingSettings(PARTICLES, REPEATS, STEPS, smallest=SMALLEST, seed=seed)
    return split(question.asked, settings)


def _missed(question: KnownQuestion, found: Splitting) -> bool:
    if found.relative_error is None:
        return True
    spread = 2 * found.relative_error * found.estimate
    return question.misses(found.estimate - spread, found.estimate + spread)


ANALYSERS = (
    Analyser(
        NAME,
        "estimate",
        "nothing: an estimate with a standard error from repeats, for rates that counting cannot "
        "reach",
        False,
        measure,
    ),
)
