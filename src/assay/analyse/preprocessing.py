"""What stands between inputs as people store them and what a model takes: x -> (x / scale - m) / s.

Perturbations are drawn in the units of the inputs, before this, as the paper does with pixels.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Literal

import numpy as np

from assay.errors import BadInput

Layout = Literal["chw", "hwc"]


@dataclass(frozen=True)
class Preprocessing:
    """`mean` and `std` hold one number, or one a channel; `layout` says where channels are."""

    scale: float = 1.0
    mean: tuple[float, ...] = ()
    std: tuple[float, ...] = ()
    layout: Layout = "chw"

    def __post_init__(self) -> None:
        if not 0 < self.scale < math.inf:
            raise BadInput(f"scale {self.scale:g} divides inputs; give a number above 0")
        if any(not 0 < s < math.inf for s in self.std):
            raise BadInput("std divides inputs; give numbers above 0")
        if not all(map(math.isfinite, self.mean)):
            raise BadInput("mean holds NaN or infinity; give finite numbers")
        if self.layout not in ("chw", "hwc"):
            raise BadInput(f"layout {self.layout!r} is unknown; give chw or hwc")

    def linear(self, shape: tuple[int, ...], name: str) -> tuple[np.ndarray, np.ndarray]:
        """Factor and shift that do all of it, to be broadcast over flat inputs of this shape."""
        std = self._spread(self.std or (1.0,), shape, name, "std")
        mean = self._spread(self.mean or (0.0,), shape, name, "mean")
        return 1 / (self.scale * std), -mean / std

    def _spread(
        self, numbers: tuple[float, ...], shape: tuple[int, ...], name: str, what: str
    ) -> np.ndarray:
        if len(numbers) == 1:
            return np.array(numbers)
        axis = 0 if self.layout == "chw" else len(shape) - 1
        if not shape or shape[axis] != len(numbers):
            raise BadInput(
                f"{name}: {what} has {len(numbers)} numbers where inputs of shape {list(shape)} "
                f"in layout {self.layout} have {shape[axis] if shape else 0} channels; give one "
                "number, or one a channel"
            )
        ones = [1] * len(shape)
        ones[axis] = len(numbers)
        return np.broadcast_to(np.array(numbers).reshape(ones), shape).reshape(-1)

    @property
    def document(self) -> dict[str, object]:
        return asdict(self)
