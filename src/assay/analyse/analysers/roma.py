"""RoMA: how far is the tail of the fitted normal law from the truth?

Nothing is promised of that. An error is a claim of less than a tenth of the true rate where
normality was accepted: whoever believes it takes the network for ten times safer than it is. The
interval counted from the same inputs, which decides the verdict, is a promise.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.stats import binom

from assay.analyse.calibration.analyser import Analyser
from assay.analyse.calibration.known import Effort, KnownQuestion
from assay.analyse.calibration.measured import Measured
from assay.analyse.roma_counted import (
    RomaCounted,
    RomaSettings,
    assess,
    counted_interval,
)
from assay.analyse.stopping import NEGLIGIBLE

NAME = "roma"
SAMPLES = 1_000
TOO_SAFE = 10


def measure(question: KnownQuestion, effort: Effort) -> tuple[Measured, ...]:
    settings = RomaSettings(SAMPLES, confidence=1 - effort.error, seed=effort.seed)
    runs = max(1, effort.repeats_of(SAMPLES))
    found = [assess(question.asked, settings, number=run) for run in range(runs)]
    claims = [rate for one in found if (rate := one.extrapolation.failure_rate) is not None]
    ratios = np.array(claims) / question.rate
    bare = Measured(
        NAME,
        question.name,
        f"claims less than p/{TOO_SAFE}",
        f"n = {SAMPLES:,}",
        promised=None,
        holds=False,
        runs=runs,
        errors=int((ratios < 1 / TOO_SAFE).sum()),
        samples=float(SAMPLES),
        most_samples=SAMPLES,
        expected_samples=float(SAMPLES),
    )
    missed = [question.misses(one.counted.lower, one.counted.upper) for one in found]
    counted = replace(
        bare,
        event="counted interval misses p",
        promised=effort.error,
        holds=True,
        errors=sum(missed),
        exact=_exact_error(question.rate, settings),
    )
    return replace(bare, figures=_figures(found, ratios, missed)), counted


def _exact_error(rate: float, settings: RomaSettings) -> float:
    """The probability of a count whose interval misses the rate."""
    mass = binom.pmf(np.arange(settings.samples + 1), settings.samples, rate)
    return float(
        sum(
            mass[failures]
            for failures in np.flatnonzero(mass > NEGLIGIBLE).tolist()
            if not counted_interval(failures, settings.samples, settings.confidence).covers(rate)
        )
    )


def _figures(
    found: list[RomaCounted], ratios: np.ndarray, missed: list[bool]
) -> dict[str, float | None]:
    some = bool(len(ratios))
    return {
        "normality accepted": len(ratios) / len(found),
        "median claim / p": float(np.median(ratios)) if some else None,
        "least claim / p": float(ratios.min()) if some else None,
        "largest claim / p": float(ratios.max()) if some else None,
        "counted interval misses": float(np.mean(missed)),
    }


ANALYSERS = (
    Analyser(
        NAME,
        "estimate",
        "nothing of the rate that is read off the tail of a normal law; the interval counted "
        "beside it misses the rate with probability at most the error asked for",
        False,
        measure,
    ),
)
