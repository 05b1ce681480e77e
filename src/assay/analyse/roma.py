"""RoMA (Levy and Katz 2021): the tail of a normal law, fitted to the scores of random inputs.

An input is kept where its score is below a threshold. RoMA fits a normal law to n scores, tests
it (Anderson-Darling), transforms scores *and threshold* (Box-Cox) if it is rejected, tests again,
and reads P(score < threshold) off the law: an extrapolation, beyond which nothing was seen. No
theorem stands behind it; `roma_counted` puts a count with a valid interval beside it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from assay.analyse.box_cox import BoxCox, fitted_box_cox
from assay.analyse.normality import FEWEST, NormalFit, fitted_normal

Basis = Literal["normal", "box-cox", "counting"]
_ROUNDING = 1e-14
"""Scores of this relative spread differ by the order of a summation, and by nothing else."""


@dataclass(frozen=True)
class Extrapolation:
    """What RoMA says; on the basis `counting` it has nothing to say, and `reason` says why."""

    basis: Basis
    reason: str
    failure_rate: float | None
    plain: NormalFit | None
    transform: BoxCox | None
    transformed: NormalFit | None
    z: float | None
    samples: int

    @property
    def accepted(self) -> bool:
        """Whether normality was, before or after Box-Cox."""
        return self.basis != "counting"

    def if_normal(self, confidence: float) -> tuple[float, float] | None:
        """Failure rates between which the truth lies *if* the law is right (delta method).

        The estimated (threshold - mean) / deviation has a variance of about 1/n + z^2 / (2n).
        """
        if self.z is None or not np.isfinite(self.z):
            return None
        error = np.sqrt((1 + self.z**2 / 2) / self.samples) * ndtri((1 + confidence) / 2)
        return float(ndtr(-self.z - error)), float(ndtr(-self.z + error))


def extrapolated(
    scores: NDArray[np.float64],
    threshold: float,
    *,
    significance: float = 0.05,
    floor: float | None = None,
) -> Extrapolation:
    """RoMA's plr of inputs with these scores, kept where a score is below the threshold."""
    n = len(scores)
    unfit = _unfit(scores)
    if unfit:
        return _silent(unfit, n)
    plain = fitted_normal(scores)
    if plain.p_value > significance:
        z = (threshold - plain.mean) / plain.deviation
        return Extrapolation("normal", "", float(ndtr(-z)), plain, None, None, z, n)
    transform = fitted_box_cox(scores, floor)
    values = transform.of(scores)
    if not (np.isfinite(values).all() and values.max() > values.min()):
        return _silent("normality is rejected, and Box-Cox has no finite values", n, plain)
    after = fitted_normal(values)
    if after.p_value > significance:
        z = (transform.of_threshold(threshold) - after.mean) / after.deviation
        return Extrapolation("box-cox", "", float(ndtr(-z)), plain, transform, after, z, n)
    return _silent("normality is rejected, before and after Box-Cox", n, plain, transform, after)


def _unfit(scores: NDArray[np.float64]) -> str:
    """Why no normal law can be fitted, if so."""
    if len(scores) < FEWEST:
        return f"{len(scores)} samples are too few for a test of normality, which needs {FEWEST}"
    if not np.isfinite(scores).all():
        return "some scores are infinite"
    if not scores.std() > _ROUNDING * np.abs(scores).max():
        return "all scores are the same number, but for rounding"
    return ""


def _silent(
    reason: str,
    samples: int,
    plain: NormalFit | None = None,
    transform: BoxCox | None = None,
    transformed: NormalFit | None = None,
) -> Extrapolation:
    return Extrapolation("counting", reason, None, plain, transform, transformed, None, samples)
