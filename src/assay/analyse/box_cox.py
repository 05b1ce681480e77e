"""Box and Cox's power transformation, kept as a value: what it does to data, it does to thresholds.

    u = (x - shift) / scale,    y = (u^power - 1) / power    (log u where power = 0)

The power is the one of the highest profile likelihood of normal y (Box and Cox 1964, Eq. 8).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import boxcox

_POWERS = (-5.0, 5.0)


@dataclass(frozen=True)
class BoxCox:
    shift: float
    scale: float
    power: float

    def of(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """The transformed values; what lies below the reach of the data goes to its lower end."""
        return np.asarray(boxcox(np.maximum((values - self.shift) / self.scale, 0.0), self.power))

    def of_threshold(self, threshold: float) -> float:
        return float(self.of(np.array([threshold]))[0])


def fitted_box_cox(values: NDArray[np.float64], floor: float | None = None) -> BoxCox:
    """For numbers that are not all the same; where they have a natural floor, that is the shift.

    Otherwise (or if the floor is reached) the lowest one comes one deviation above zero: a shift
    that depends on neither the threshold nor the units. The scale is the geometric mean, so that
    no power overflows.
    """
    low = float(values.min())
    shift = floor if floor is not None and low > floor else low - float(values.std())
    logs = np.log(values - shift)
    scale = float(np.exp(logs.mean()))
    units = (values - shift) / scale
    found = minimize_scalar(lambda power: _spread(units, power), bounds=_POWERS, method="bounded")
    return BoxCox(shift, scale, float(found.x))


def _spread(units: NDArray[np.float64], power: float) -> float:
    """Minus the likelihood but for constants: units of geometric mean 1 have no Jacobian."""
    with np.errstate(over="ignore", invalid="ignore"):
        variance = float(np.var(boxcox(units, power)))
    return float(np.log(variance)) if 0 < variance < np.inf else np.inf
