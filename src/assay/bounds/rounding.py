"""Intervals in float64 that enclose real numbers, and the bounds of rounding behind them.

The argument. float64 arithmetic rounds to nearest with unit u = 2^-53 and gradual underflow (the
default of torch; `refuse_flushing` checks it). Then

* one operation +, -, *, / or sqrt is off by less than the distance to the next float, so
  `below` and `above` of its result enclose the real one;
* a sum of n products, in any order and with or without fused multiply-add, is off by at most
  k u / (1 - k u) times the sum of the sizes of its terms, k = n + 1, plus n halves of the least
  subnormal. Constant factors that are themselves a few roundings off raise k by as many.

`gamma(k)` is 1.25 k u. The surplus over k u / (1 - k u) is larger than what is lost when the bound
itself is computed from nonnegative numbers by no more than k roundings, because k u < 2^-20.
`TINY` is far above what k underflows can lose, even times a float32 factor, and far below
anything else.

The one thing taken on trust is that torch's elementary functions are good to a few units in the
last place (its documentation and that of SLEEF and MKL say one): `SMOOTH` allows sixteen.
Fused kernels that do not sum products (Winograd, Strassen) do not exist for float64 in torch.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from assay.errors import Unsupported

UNIT = 2.0**-53
TINY = 2.0**-900
SMOOTH = 2.0**-49
LARGEST = math.nextafter(math.inf, 0)
_MOST_ROUNDINGS = 2**32


def gamma(roundings: int) -> float:
    """How much of the sum of the sizes of its terms a computed sum may be off."""
    if roundings > _MOST_ROUNDINGS:
        raise Unsupported("a sum of more than 2^32 terms has no useful rounding bound")
    return 1.25 * roundings * UNIT


def below(x: Tensor) -> Tensor:
    """The next float64 towards minus infinity."""
    return torch.nextafter(x, x.new_tensor(-math.inf))


def above(x: Tensor) -> Tensor:
    """The next float64 towards infinity."""
    return torch.nextafter(x, x.new_tensor(math.inf))


def refuse_flushing() -> None:
    """Rounding bounds are void where subnormal numbers are flushed to zero."""
    if float(torch.tensor([2.0**-1074], dtype=torch.float64) * 1.0) == 0.0:
        raise Unsupported("torch flushes subnormal numbers; call torch.set_flush_denormal(False)")


@dataclass(frozen=True, eq=False)
class Interval:
    """All reals from `low` to `high`, number by number; a constant has both the same tensor.

    No end is NaN, `low` is never +inf and `high` never -inf: an end that says nothing is infinite.
    """

    low: Tensor
    high: Tensor

    @classmethod
    def exactly(cls, value: Tensor) -> Interval:
        return cls(value, value)

    @classmethod
    def sound(cls, low: Tensor, high: Tensor) -> Interval:
        """Ends that already are outward, with NaN and overflow turned into 'nothing known'."""
        return cls(
            torch.nan_to_num(low, nan=-math.inf, posinf=LARGEST, neginf=-math.inf),
            torch.nan_to_num(high, nan=math.inf, posinf=math.inf, neginf=-LARGEST),
        )

    @classmethod
    def rounded(cls, low: Tensor, high: Tensor) -> Interval:
        """Ends that are each one rounded operation away from real ones."""
        return cls.sound(below(low), above(high))

    @classmethod
    def around(cls, centre: Tensor, radius: Tensor) -> Interval:
        """`radius` already covers the rounding of `centre`."""
        known = torch.isfinite(centre) & torch.isfinite(radius)
        low = torch.where(known, below(centre - radius), -math.inf)
        high = torch.where(known, above(centre + radius), math.inf)
        return cls.sound(low, high)

    @property
    def exact(self) -> bool:
        """Whether this is one known number everywhere."""
        return self.low is self.high

    @property
    def size(self) -> Tensor:
        """The largest absolute value."""
        return torch.maximum(self.low.abs(), self.high.abs())

    def ball(self) -> tuple[Tensor, Tensor]:
        """A centre and a radius that cover the interval."""
        if self.exact:
            return self.low, torch.zeros_like(self.low)
        centre = self.low * 0.5 + self.high * 0.5
        return centre, above(torch.maximum(self.high - centre, centre - self.low))

    def within(self, other: Interval) -> Interval:
        """The intersection of two enclosures of the same numbers."""
        return Interval(torch.maximum(self.low, other.low), torch.minimum(self.high, other.high))
