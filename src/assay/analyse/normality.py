"""Are numbers normal? The test of Anderson and Darling, mean and deviation being estimated.

With z_1 <= ... <= z_n standardised by the sample's own mean and deviation,

    A^2 = -n - sum_i (2 i - 1) / n (log Phi(z_i) + log Phi(-z_{n+1-i})),

and A^2 (1 + .75 / n + 2.25 / n^2) has the p-values of D'Agostino and Stephens (Goodness-of-Fit
Techniques, 1986, table 4.9), which hold from eight numbers on. The p-value is an approximation:
scipy's `anderson` tabulates it between .01 and .15 only, or simulates it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

FEWEST = 8
_LARGEST = 10.0
"""Beyond, the formula of the p-value rises again; it is below 1e-23 there."""
_PIECES = (
    (0.6, 1.2937, -5.709, 0.0186),
    (0.34, 0.9177, -4.279, -1.38),
    (0.2, -8.318, 42.796, -59.938),
    (-np.inf, -13.436, 101.14, -223.73),
)


@dataclass(frozen=True)
class NormalFit:
    """The normal law with the sample's moments, and whether the sample looks like it."""

    mean: float
    deviation: float
    statistic: float
    p_value: float


def fitted_normal(values: NDArray[np.float64]) -> NormalFit:
    """Of at least eight numbers that are not all the same."""
    mean, deviation = float(values.mean()), float(values.std(ddof=1))
    statistic = anderson_darling((values - mean) / deviation)
    return NormalFit(mean, deviation, statistic, p_value(statistic, len(values)))


def anderson_darling(standardised: NDArray[np.float64]) -> float:
    """A^2 of numbers with mean 0 and deviation 1."""
    z, n = np.sort(standardised), len(standardised)
    weights = (2 * np.arange(1, n + 1) - 1) / n
    return float(-n - weights @ (log_ndtr(z) + log_ndtr(-z[::-1])))


def p_value(statistic: float, n: int) -> float:
    """How likely normal numbers have a statistic so large."""
    adjusted = min(statistic * (1 + 0.75 / n + 2.25 / n**2), _LARGEST)
    start, a, b, c = next(piece for piece in _PIECES if adjusted >= piece[0])
    tail = float(np.exp(a + b * adjusted + c * adjusted**2))
    return tail if start >= 0.34 else 1 - tail
